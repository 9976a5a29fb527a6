package scopes

import (
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// parseID splits KIND/NAME.
func parseID(text string) (id route.ScopeID, ok bool) {
	kind, name, ok := strings.Cut(text, "/")
	return route.ScopeID{Kind: kind, Scope: name}, ok && kind != "" && name != "" && !strings.Contains(name, "/")
}

// scopeID splits KIND/NAME. The error for another text suggests a scope of the fleet.
func scopeID(ctx context.Context, s *cli.Printer, text string) (route.ScopeID, error) {
	if id, ok := parseID(text); ok {
		return id, nil
	}
	hint := "Give KIND/NAME, for example cluster/search. List the scopes: fettle scope list"
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return route.ScopeID{}, err
	}
	if near := nearest(ctx, hub, text); near != "" {
		hint = "Did you mean " + near + "? List the scopes: fettle scope list"
	}
	return route.ScopeID{}, cli.Refuse(hint, fmt.Sprintf("cannot use %.130q as the name of a scope", text))
}

// nearest returns the scope of the fleet that the user may have meant, or "". It is also "" if the hub does not answer.
func nearest(ctx context.Context, hub *client.Client, text string) string {
	all, err := client.GetAt(ctx, hub, route.Scopes(), route.ScopeQuery{})
	if err != nil {
		return ""
	}
	ids := make([]string, 0, len(all.Scopes))
	for _, x := range all.Scopes {
		ids = append(ids, x.ID)
	}
	return scope.Nearest(text, ids)
}
