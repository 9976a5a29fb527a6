package environment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func newList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List environments that operators created",
		Long: `Lists environments that operators created. Expired environments stay in the list
for seven days.`,
		Example: "  fettle environment list",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Environments(), showAll)
		},
	}
	w.Flag(c)
	return c
}

func newShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show an environment that an operator created, with its targets",
		Example: "  fettle environment show review-7",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Environment(),
				route.EnvironmentName{Environment: a[0]}, showOne)
		},
	}
	w.Flag(c)
	return c
}

func showAll(s *cli.Printer, p document.EnvironmentPage) {
	if len(p.Environments) == 0 {
		s.Printf("There are no environments that operators created. Environments of the repository: fettle scope list\n")
		return
	}
	rows := [][]string{}
	for _, e := range p.Environments {
		rows = append(rows, []string{e.Name, string(e.State), end(s, e), render.Escape(e.Parent),
			render.Escape(e.Branch), render.Escape(fmt.Sprintf("%d: %s", e.Targets, strings.Join(e.Select, ", "))),
			render.Escape(e.By), render.Escape(e.Reason)})
	}
	s.Style().Table(s.App.Stdout, []string{"ENVIRONMENT", "STATE", "UNTIL", "FROM", "BRANCH", "TARGETS", "BY", "REASON"},
		rows)
}

// end returns the end of an environment for users.
func end(s *cli.Printer, e document.Environment) string {
	if e.Until == 0 {
		return "its branch is gone"
	}
	return s.Moment(e.Until)
}

func showOne(s *cli.Printer, detail document.EnvironmentDetail) {
	d := detail.Environment
	s.Printf("%s: %s until %s, from %s\n", d.Name, d.State, end(s, d), render.Escape(d.Parent))
	s.Printf("Created by %s at %s", render.Escape(d.By), s.Moment(d.At))
	if d.Reason != "" {
		s.Printf(": %s", render.Escape(d.Reason))
	}
	what := "The targets follow"
	if len(d.Modules) > 0 {
		what = strings.Join(d.Modules, ", ") + " follow"
	}
	s.Printf("\n%s %s, which is at %.12s\n", render.Escape(what), render.Escape(d.Branch), d.Commit)
	if d.Rule != "" {
		s.Printf("The rule %s created it\n", render.Escape(d.Rule))
	}
	if d.Domain != "" {
		s.Printf("Its public name is %s\n", render.Escape(d.Domain))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Vars)) {
		s.Printf("Variable %s = %s\n", render.Escape(name), render.Escape(d.Vars[name]))
	}
	if d.Error != "" {
		s.Printf("Cannot read the branch: %s\n", render.Escape(d.Error))
	}
	s.Printf("\n")
	rows := [][]string{}
	for _, m := range detail.Members {
		state := "waits for the branch"
		switch {
		case m.Absent != "":
			state = "does not count: " + m.Absent
		case len(m.Commits) > 0:
			state = fmt.Sprintf("assigned at %.12s", strings.Join(m.Commits, ", "))
		case d.State != document.EnvironmentInForce:
			state = "returned"
		}
		rows = append(rows, []string{render.Escape(m.Name), render.Escape(state)})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STATE"}, rows)
}

func send(s *cli.Session, do func(*client.Client) (document.Done, error)) error {
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := do(hub)
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s.Printer, d, func() { s.Printf("%s\n", d.Text) })
}
