// Package locks has the commands for locks of a fleet.
//
//	fettle lock list
//	fettle lock release reboots web1 --reason 'web1 is broken and stays off'
package locks

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewLock builds the command lock, for slots that targets hold.
func NewLock(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "lock",
		Short: "Slots of locks, such as for reboots",
		Long: `Shows the locks that the repository declares, and the targets that hold their
slots. Hosts acquire and release slots with the FleetLock protocol, for example
before and after a reboot: docs/coordination.md.`,
		Example: "  fettle lock list\n  fettle lock release reboots web1 --reason 'web1 is broken and stays off'",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newLockList(s), newLockRelease(s))
	return c
}

func newLockList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the locks and the targets that hold their slots",
		Example: "  fettle lock list\n  fettle lock list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Locks(), showLocks)
		},
	}
	w.Flag(c)
	return c
}

func showLocks(s *cli.Printer, p document.LockPage) {
	if len(p.Locks) == 0 {
		s.Printf("The repository declares no locks. See docs/coordination.md\n")
		return
	}
	for i, l := range p.Locks {
		if i > 0 {
			s.Printf("\n")
		}
		showLock(s, l)
	}
}

func showLock(s *cli.Printer, l document.Lock) {
	s.Printf("%s: %d of %d slots are taken%s\n", l.Name, l.Taken, l.Slots, lockNote(s, l))
	if len(l.Holders)+len(l.Waiting) == 0 {
		return
	}
	rows, overdue, lost := [][]string{}, "", ""
	for _, h := range l.Holders {
		name := cmp.Or(h.Name, string(h.Target))
		left := h.Expires - s.App.Now().UnixNano()
		text := "has a slot, " + about(left) + " left"
		switch h.State {
		case document.SlotOverdue:
			text, overdue = "overdue for "+about(-left)+", keeps its slot", cmp.Or(overdue, name)
		case document.SlotLost:
			text, lost = "lost its slot, "+about(-left)+" ago", cmp.Or(lost, name)
		}
		rows = append(rows, []string{name, text, s.Moment(h.Since), s.Moment(h.Expires)})
	}
	for _, w := range l.Waiting {
		rows = append(rows, []string{cmp.Or(w.Name, string(w.Target)), "waits for a slot", s.Moment(w.Since), ""})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STATE", "SINCE", "END OF LEASE"}, rows)
	if overdue != "" {
		s.Printf("%s did not release its slot in time. If it is done or stays off: fettle lock release %s %s --reason WHY\n",
			overdue, l.Name, overdue)
	}
	if lost != "" {
		s.Printf("%s did not release its slot in time, so others can take it. To remove this note: fettle lock release %s %s"+
			" --reason WHY\n", lost, l.Name, lost)
	}
}

// lockNote returns the reason for which a lock grants no slots, or "".
func lockNote(s *cli.Printer, l document.Lock) string {
	switch {
	case l.Undeclared:
		return "; the repository no longer declares this lock, so it grants none"
	case l.Opens > 0:
		return fmt.Sprintf("; the fleet was restored from a backup, so it grants none until %s", s.Moment(l.Opens))
	case l.Taken > l.Slots:
		return "; the repository reduced the number, so it grants none until fewer are taken"
	}
	purpose := ""
	if l.Reboots {
		purpose = "; needed for reboots"
	}
	return "; lease " + duration.Text(time.Duration(l.Lease)) + purpose
}

// about returns a length of time in ns without fractions of seconds.
func about(ns int64) string { return duration.Text(time.Duration(max(ns, 0)).Truncate(time.Second)) }
