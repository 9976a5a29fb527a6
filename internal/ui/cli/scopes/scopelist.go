package scopes

import (
	"math"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/verdicts"
)

func newScopeList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	var q route.ScopeQuery
	var tree bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the scopes with their verdicts and reasons",
		Example: "  fettle scope list\n  fettle scope list --verdict failed --watch\n" +
			"  fettle scope list --tree --within room/north",
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Scopes(), q,
				func(s *cli.Printer, p document.ScopePage) { showScopes(s, q, tree, p) })
		},
	}
	c.Flags().BoolVar(&tree, "tree", false, "show each scope below the scopes that contain it, the worst first")
	c.Flags().StringSliceVar(&q.Kinds, "kind", nil, "only scopes of these `KINDS`, separated by commas")
	c.Flags().StringVar(&q.Verdict, "verdict", "",
		"only scopes with this `VERDICT`: failed, unknown, pending, empty or ready")
	c.Flags().StringVar(&q.Within, "within", "", "only the scope `KIND/NAME`, and the scopes that it contains")
	c.Flags().StringVar(&q.Sort, "sort", "id",
		"order by this `FIELD`: id, verdict or since; - before the field reverses the order")
	c.Flags().StringVar(&q.After, "after", "", "the scopes after this `CURSOR` of an earlier answer in the same order")
	cli.LimitOrAllFlag(c, &q.Limit, 0, "scopes")
	w.Flag(c)
	return c
}

func showScopes(s *cli.Printer, q route.ScopeQuery, tree bool, p document.ScopePage) {
	if len(p.Scopes) == 0 {
		text := "The repository declares no scopes. See docs/scopes.md\n"
		if len(p.Kinds) > 0 {
			text = "No scope is selected. List all scopes: fettle scope list\n"
		}
		s.Printf("%s", text)
		return
	}
	if tree {
		lines, _ := verdicts.Lines(verdicts.Trees(p.Scopes), math.MaxInt)
		s.Printf("%s\n", strings.Join(lines, "\n"))
	} else {
		showTable(s, p)
	}
	if p.Cursor != "" {
		s.Printf("%d scopes in all. Show the next ones: fettle scope list --sort %s --after '%s'\n", p.Total, q.Sort,
			p.Cursor)
	}
}

func showTable(s *cli.Printer, p document.ScopePage) {
	var rows [][]string
	for _, x := range p.Scopes {
		rows = append(rows, []string{x.ID, string(x.Verdict), since(s, x.Since), x.MembersText(),
			document.FirstReason(x.Reasons)})
	}
	s.Style().Table(s.App.Stdout, []string{"SCOPE", "VERDICT", "SINCE", "MEMBERS", "REASON"}, rows)
}
