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
		return cli.WithHint(err, "Of this host: fettle explain var|module|target NAME")
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
		{Name: "slot", Value: lockWaitsText(s, e.LockWaits)},
		{Name: "needs", Value: neededText(e.Needs)},
		{Name: "needed by", Value: neededText(e.NeededBy)},
		{Name: "reasons", Value: strings.Join(e.Reasons, "\n")},
	})
}

// shownHolders is the number of targets in a line about a lock.
const shownHolders = 5

// lockWaitsText returns a line for each lock for whose slot a target waits.
func lockWaitsText(s *cli.Printer, list []document.LockWait) string {
	var out []string
	for _, w := range list {
		var holders []string
		for _, h := range w.Holders[:min(len(w.Holders), shownHolders)] {
			holders = append(holders, cmp.Or(h.Name, string(h.Target))+" since "+s.Moment(h.Since))
		}
		if more := len(w.Holders) - len(holders); more > 0 {
			holders = append(holders, fmt.Sprint(more, " more"))
		}
		out = append(out, fmt.Sprintf("waits for one of the lock %s since %s%s", w.Lock, s.Moment(w.Since),
			hubclient.Parted(", held by ", strings.Join(holders, ", "))))
	}
	return strings.Join(out, "\n")
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
