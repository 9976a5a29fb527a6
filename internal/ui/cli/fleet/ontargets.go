package fleet

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// onTargets is a command that does something to the targets that are named or selected.
func onTargets[In any](s *cli.Session, c *cobra.Command, did string, names []string,
	r route.Route[route.TargetName, In, document.Done], in In) error {
	return hubclient.EachOnHub(c.Context(), s, did, names, func(hub *client.Client, name string) (document.Done, error) {
		return client.Call(c.Context(), hub, r, route.TargetName{Target: name}, in)
	})
}

// wholeFleet reads from a route of the whole fleet, for a part of an answer. A hub refuses users of an organization
// there, and they get nothing.
func wholeFleet[A, Out any](ctx context.Context, hub *client.Client, r route.Route[A, route.None, Out],
	at A) (Out, error) {
	out, err := client.GetAt(ctx, hub, r, at)
	if p, ok := errors.AsType[*document.Problem](err); ok && p.Status == 403 {
		err = nil
	}
	return out, err
}
