package explain

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

// explainOnHub shows why a module on a target of the fleet is as it is.
func explainOnHub(ctx context.Context, s *cli.Printer, target, module string) error {
	if _, err := hubclient.HubOf(s); err != nil {
		return cli.WithHint(err, "Of this host: fettle explain var NAME, fettle explain module NAME")
	}
	return hubclient.ShowingAt(ctx, s, hubclient.Watching{}, route.Explain(),
		route.TargetModule{Target: target, Module: module},
		showExplanation)
}

func showExplanation(s *cli.Printer, e document.Explanation) {
	is := cmp.Or(string(e.State), "unknown")
	if e.State == "" && e.Assigned == nil {
		is = "not assigned"
	}
	s.Printf("%s on %s: %s%s\n\n", render.Escape(hubclient.DirectoryName(e.Module)), render.Escape(e.Name), is,
		hubclient.Parted(" since ", s.Moment(e.Since)))
	assigned, applied := "nothing", "never"
	if e.Assigned != nil {
		assigned = hubclient.RevisionText(e.Assigned)
	}
	if e.Applied != "" {
		applied = hubclient.Short(e.Applied)
	}
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "assigned", Value: assigned},
		{Name: "applied", Value: applied},
		{Name: "error", Value: e.Error},
		{Name: "waits", Value: e.Waits},
		{Name: "needs", Value: neededText(e.Needs)},
		{Name: "needed by", Value: neededText(e.NeededBy)},
		{Name: "reasons", Value: strings.Join(e.Reasons, "\n")},
	})
}

func neededText(list []document.Needed) string {
	var out []string
	for _, n := range list {
		how := string(n.Level)
		if n.Layer {
			how += ", a layer"
		}
		out = append(out, fmt.Sprintf("%s (%s): %s", hubclient.DirectoryName(n.Module), how,
			cmp.Or(string(n.State), "unknown")))
	}
	return strings.Join(out, "\n")
}
