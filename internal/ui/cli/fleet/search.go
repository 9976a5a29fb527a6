package fleet

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func newFleetSearch(s *cli.Session) *cobra.Command {
	var at route.SearchQuery
	c := &cobra.Command{
		Use:   "search TEXT",
		Short: "Search for targets, modules, files, packages, commits, rollouts and runs",
		Long: `Searches for a part of a name: of a target, a module, a file, a package or
another state. The text can also be a label, the beginning of a commit, or the
number of a run. KIND:NAME selects a kind, such as package:nginx. "TARGET
NUMBER" and "TARGET COMMIT" find runs of one target.

Files and other states come from the source of the modules that are assigned to
targets. An expression that only a target can evaluate is searched as written.
The content of files is not searched.`,
		Example: `  fettle fleet search /etc/nginx/nginx.conf
  fettle fleet search package:nginx
  fettle fleet search "web1 60"`,
		Args: cli.Args(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			at.Text = args[0]
			return hubclient.ShowingAt(c.Context(), s.Printer, hubclient.Watching{}, route.Search(), at, showSearch)
		},
	}
	cli.LimitFlag(c, &at.Limit, 50, "results of each type")
	return c
}

func showSearch(s *cli.Printer, d document.Search) {
	var rows [][]string
	for _, t := range d.Targets {
		rows = append(rows, []string{"target", t.Name, string(t.State)})
	}
	for _, m := range d.Modules {
		rows = append(rows, []string{"module", m.Module, render.Count(m.Targets, "target")})
	}
	for _, f := range d.States {
		rows = append(rows, []string{f.Kind, strings.Join(f.Names, ", "), placeOfState(f)})
	}
	for _, r := range d.Commits {
		rows = append(rows, []string{"commit", r.Commit, r.Subject})
	}
	for _, r := range d.Rollouts {
		rows = append(rows, []string{"rollout", r.ID, cli.JoinWords(string(r.Phase)+":", r.Cause)})
	}
	for _, e := range d.Runs {
		rows = append(rows, []string{"run", fmt.Sprintf("%s %d", cmp.Or(e.Name, string(e.Target)), e.Run),
			cli.JoinWords(e.Kind, s.Moment(e.At), hubclient.Parted("in ", e.RunTimeText())) +
				hubclient.Parted(": ", strings.ReplaceAll(e.Error, "\n", "; "))})
	}
	if d.Empty() {
		s.Printf("Nothing was found.\n")
	} else {
		s.Style().Table(s.App.Stdout, []string{"RESULT", "NAME", "DETAILS"}, rows)
	}
	for _, list := range []string{"targets", "modules", "states", "commits", "rollouts", "runs"} {
		if n := d.More[list]; n > 0 {
			s.Printf("%d more %s: use --limit\n", n, list)
		}
	}
	for _, text := range d.Incomplete {
		s.Printf("Not searched: %s\n", text)
	}
}

// placeOfState describes where a state is declared, and for which targets.
func placeOfState(f document.FoundState) string {
	first := strings.Join(f.First, ", ")
	if f.Targets > len(f.First) {
		first += ", …"
	}
	return fmt.Sprintf("%s:%d, %s: %s", f.File, f.Line, render.Count(f.Targets, "target"), first)
}
