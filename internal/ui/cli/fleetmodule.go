//go:build !target

package cli

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
	"fettle.dev/fettle/internal/ui/render"
)

func showFleetModules(s *printer, p document.ModulePage) {
	if len(p.Modules) == 0 {
		s.printf("No target has a module. The repository assigns modules: fettle docs target_group\n")
		return
	}
	rows := [][]string{}
	for _, m := range p.Modules {
		newest := ""
		if len(m.Revisions) > 0 {
			newest = short(m.Revisions[0].Commit)
		}
		rows = append(rows, []string{directoryName(m.Module), strconv.Itoa(m.Targets), applied(m.Targets, m.Behind),
			strconv.Itoa(m.Errors), newest, counts(m.States)})
	}
	s.style().Table(s.app.Stdout, []string{"MODULE", "TARGETS", "APPLIED", "ERRORS", "REVISION", "STATES"}, rows)
}

// directoryName is the name of a module for users.
func directoryName(module string) string { return strings.TrimPrefix(module, "modules/") }

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

func newModuleShow(s *session) *cobra.Command {
	var w watching
	limit := 0
	c := &cobra.Command{
		Use:     "show MODULE",
		Short:   "Show the revisions of a module on the targets, failures first",
		Example: "  fettle module show web\n  fettle module show web --limit 10 --watch",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return showingAt(c.Context(), s.printer, w, route.Module(), route.ModuleQuery{Module: a[0], Limit: limit},
				showFleetModule)
		},
	}
	limitOrAllFlag(c, &limit, 50, "targets")
	w.flag(c)
	return c
}

func showFleetModule(s *printer, d document.ModuleDetail) {
	s.printf("%s on %s: %s\n\n", directoryName(d.Module.Module), render.Count(d.Module.Targets, "target"),
		counts(d.Module.States))
	rows := [][]string{}
	for _, r := range d.Module.Revisions {
		rows = append(rows, []string{short(r.Commit), strconv.Itoa(r.Assigned), strconv.Itoa(r.Applied), r.Branch, r.Subject})
	}
	s.style().Table(s.app.Stdout, []string{"REVISION", "ASSIGNED", "APPLIED", "BRANCH", "SUBJECT"}, rows)
	s.printf("\n")
	rows = [][]string{}
	for _, t := range d.Targets {
		rows = append(rows, []string{t.Name, cmp.Or(string(t.State), "unknown"), short(t.Assigned),
			cmp.Or(short(t.Applied), "-"), s.ago(t.Since), cmp.Or(t.Error, t.Waits)})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "STATE", "ASSIGNED", "APPLIED", "SINCE", "REASON"}, rows)
	if left := d.Total - len(d.Targets); left > 0 {
		s.printf("%d more; see them with --limit\n", left)
	}
}
