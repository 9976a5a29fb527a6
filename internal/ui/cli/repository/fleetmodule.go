package repository

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func showFleetModules(s *cli.Printer, p document.ModulePage) {
	if len(p.Modules) == 0 {
		s.Printf("No target has a module. The repository assigns modules: fettle docs target_group\n")
		return
	}
	rows := [][]string{}
	for _, m := range p.Modules {
		newest := ""
		if len(m.Revisions) > 0 {
			newest = hubclient.Short(m.Revisions[0].Commit)
		}
		rows = append(rows, []string{hubclient.DirectoryName(m.Module), strconv.Itoa(m.Targets),
			hubclient.Applied(m.Targets, m.Behind),
			strconv.Itoa(m.Errors), newest, counts(m.States)})
	}
	s.Style().Table(s.App.Stdout, []string{"MODULE", "TARGETS", "APPLIED", "ERRORS", "REVISION", "STATES"}, rows)
}

// counts is how many are in which state, the most first.
func counts(states map[fleet.Readiness]int) string {
	names := slices.SortedFunc(maps.Keys(states), func(a, b fleet.Readiness) int {
		return cmp.Or(cmp.Compare(states[b], states[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("%d %s", states[n], n))
	}
	return strings.Join(out, ", ")
}

func newModuleShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	limit := 0
	c := &cobra.Command{
		Use:     "show MODULE",
		Short:   "Show the revisions of a module on the targets, failures first",
		Example: "  fettle module show web\n  fettle module show web --limit 10 --watch",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Module(), route.ModuleQuery{Module: a[0], Limit: limit},
				showFleetModule)
		},
	}
	cli.LimitOrAllFlag(c, &limit, 50, "targets")
	w.Flag(c)
	return c
}

func showFleetModule(s *cli.Printer, d document.ModuleDetail) {
	s.Printf("%s on %s: %s\n\n", hubclient.DirectoryName(d.Module.Module), render.Count(d.Module.Targets, "target"),
		counts(d.Module.States))
	for _, h := range d.Held {
		s.Printf("%s\n\n", h.Text)
	}
	rows := [][]string{}
	for _, r := range d.Module.Revisions {
		rows = append(rows, []string{hubclient.Short(r.Commit), strconv.Itoa(r.Assigned), strconv.Itoa(r.Applied), r.Branch,
			r.Subject})
	}
	s.Style().Table(s.App.Stdout, []string{"REVISION", "ASSIGNED", "APPLIED", "BRANCH", "SUBJECT"}, rows)
	s.Printf("\n")
	rows = [][]string{}
	for _, t := range d.Targets {
		rows = append(rows, []string{t.Name, cmp.Or(string(t.State), "unknown"), hubclient.Short(t.Assigned),
			cmp.Or(hubclient.Short(t.Applied), "-"), hubclient.AgoText(s, t.Since), cmp.Or(t.Error, t.Waits)})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STATE", "ASSIGNED", "APPLIED", "SINCE", "REASON"}, rows)
	if left := d.Total - len(d.Targets); left > 0 {
		s.Printf("%d more; see them with --limit\n", left)
	}
}
