// Package waits has the commands for barriers and signals of a fleet.
//
//	fettle barrier list
//	fettle signal send schema --payload v2
package waits

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewBarrier builds the command barrier, for points at which targets wait.
func NewBarrier(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "barrier",
		Short: "Barriers at which targets wait until enough have arrived",
		Long: `Shows the barriers that the repository declares, and the members that have
arrived: docs/barriers.md.`,
		Example: "  fettle barrier list",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newBarrierList(s))
	return c
}

func newBarrierList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the barriers and the members that have arrived",
		Example: "  fettle barrier list\n  fettle barrier list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Barriers(), showBarriers)
		},
	}
	w.Flag(c)
	return c
}

func showBarriers(s *cli.Printer, p document.BarrierPage) {
	if len(p.Barriers) == 0 {
		s.Printf("The repository declares no barriers. See docs/barriers.md\n")
		return
	}
	for i, b := range p.Barriers {
		if i > 0 {
			s.Printf("\n")
		}
		showBarrier(s, b)
	}
}

func showBarrier(s *cli.Printer, b document.Barrier) {
	s.Printf("%s: %d of %d required members have arrived%s\n", b.Name, b.Arrived, b.Required, barrierNote(s, b))
	if len(b.Members) == 0 {
		return
	}
	var rows [][]string
	for _, m := range b.Members {
		since := ""
		if m.Since > 0 {
			since = s.Moment(m.Since)
		}
		rows = append(rows, []string{m.Name, stateText(m.State), since})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STATE", "SINCE"}, rows)
}

// barrierNote describes a barrier, or the reason for which it cannot open.
func barrierNote(s *cli.Printer, b document.Barrier) string {
	switch {
	case b.Undeclared:
		return "; the repository no longer declares this barrier"
	case len(b.Members) == 0:
		return "; it selects no targets, so it does not open"
	}
	text := fmt.Sprintf("; quorum %s of %d", b.Quorum, b.Counted)
	if b.OfflineAfter > 0 {
		text += "; offline members do not count after " + duration.Text(time.Duration(b.OfflineAfter))
	}
	if b.Opened > 0 {
		text += fmt.Sprintf("; generation %d opened at %s", b.Generation, s.Moment(b.Opened))
	}
	return text
}

// stateText returns the state of a member for operators.
func stateText(x document.BarrierMemberState) string {
	switch x {
	case document.MemberArrived:
		return "arrived"
	case document.MemberExpected:
		return "expected"
	case document.MemberNotEnrolled:
		return "not enrolled, does not count"
	case document.MemberSuspect:
		return "suspect clone, does not count"
	}
	return string(x) + ", does not count"
}
