//go:build !target

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/render"
)

// explainOnHub shows why a module on a target of the fleet is as it is.
func explainOnHub(ctx context.Context, s *printer, target, module string) error {
	if _, err := s.hub(); err != nil {
		return withHint(err, "Of this host: fettle explain var NAME, fettle explain module NAME")
	}
	return showingAt(ctx, s, watching{}, route.Explain(), route.TargetModule{Target: target, Module: module},
		showExplanation)
}

func showExplanation(s *printer, e document.Explanation) {
	is := cmp.Or(string(e.State), "unknown")
	if e.State == "" && e.Assigned == nil {
		is = "not assigned"
	}
	s.printf("%s on %s: %s%s\n\n", render.Escape(directoryName(e.Module)), render.Escape(e.Name), is,
		parted(" since ", s.moment(e.Since)))
	assigned, applied := "nothing", "never"
	if e.Assigned != nil {
		assigned = revisionText(e.Assigned)
	}
	if e.Applied != "" {
		applied = short(e.Applied)
	}
	s.style().Pairs(s.app.Stdout, []render.Pair{
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
		out = append(out, fmt.Sprintf("%s (%s): %s", directoryName(n.Module), how, cmp.Or(string(n.State), "unknown")))
	}
	return strings.Join(out, "\n")
}
