package fleet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func showTarget(s *cli.Printer, d document.TargetDetail) {
	t := d.Target
	pin := pinText(t.Pin)
	if t.Pin != nil && t.Pin.Until > 0 {
		pin += ", until " + s.Moment(t.Pin.Until*1e9)
	}
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "target", Value: t.Name},
		{Name: "identity", Value: string(t.ID)},
		{Name: "standing", Value: string(t.Standing)},
		{Name: "changed by", Value: d.By},
		{Name: "state", Value: string(t.State)},
		{Name: "error", Value: t.Error},
		{Name: "suspect", Value: suspectOf(s, t.Suspect)},
		{Name: "hosts", Value: copiesText(s, t.Suspect)},
		{Name: "frozen", Value: t.Frozen},
		{Name: "pin", Value: pin},
		{Name: "labels", Value: labelText(t.Labels)},
		{Name: "groups", Value: strings.Join(d.Serves["groups"], ", ")},
		{Name: "roles", Value: strings.Join(d.Serves["roles"], ", ")},
		{Name: "environment", Value: d.Environment},
		{Name: "made by", Value: madeBy(d.Element)},
		{Name: "contact", Value: contact(s, t)},
		{Name: "supervisor", Value: supervisorText(d.Supervisor)},
		{Name: "zone", Value: t.Zone},
		{Name: "clock", Value: hubclient.ClockText(time.Duration(d.Ahead))},
		{Name: "assigned", Value: orderText(t.Assigned) + hubclient.Parted(", ", s.Moment(d.Issued))},
		{Name: "accepted", Value: orderText(t.Accepted)},
		{Name: "root", Value: hubclient.RevisionText(d.Root)},
		{Name: "held", Value: hubclient.HeldText(d.Held)},
		{Name: "run", Value: strconv.Itoa(t.Run) + hubclient.Parted(", changed ", s.Moment(t.Changed))},
		{Name: "drift", Value: cli.Addresses(t.Drift)},
		{Name: "enrolled", Value: s.Moment(d.Enrolled)},
		{Name: "agent", Value: t.Version},
		{Name: "facts", Value: strings.ReplaceAll(labelText(d.Facts), ",", "\n")},
	})
	if len(d.Modules) > 0 {
		s.Printf("\n")
		showTargetModules(s, d.Modules)
	}
	showGuests(s, d)
	if len(d.Checks) > 0 {
		s.Printf("\n")
		hubclient.ShowChecks(s, d.Checks)
	}
}

func madeBy(e *document.TargetElement) string {
	if e == nil {
		return ""
	}
	return e.String()
}

func showTargetModules(s *cli.Printer, modules []document.ModuleOnTarget) {
	rows := [][]string{}
	for _, m := range modules {
		assigned := "-"
		if m.Assigned != nil {
			assigned = hubclient.Short(m.Assigned.Commit)
		}
		rows = append(rows, []string{cmp.Or(m.Module, "(top)"), cmp.Or(string(m.State), "unknown"), assigned,
			cmp.Or(hubclient.Short(m.Applied), "-"), hubclient.AgoText(s, m.Since),
			cmp.Or(m.Error, m.Waits, needsOnHub(m.Needs))})
	}
	s.Style().Table(s.App.Stdout, []string{"MODULE", "STATE", "ASSIGNED", "APPLIED", "SINCE", "REASON"}, rows)
}

func orderText(o document.Order) string {
	if o.Epoch == 0 {
		return "nothing"
	}
	return fmt.Sprintf("generation %d of epoch %d", o.Generation, o.Epoch)
}

func needsOnHub(needs []fleet.Need) string {
	var out []string
	for _, n := range needs {
		out = append(out, n.Module)
	}
	return hubclient.Parted("needs ", strings.Join(out, ", "))
}

func supervisorText(s *document.Supervisor) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s; its guest %s is %s", s.Name, s.State, s.Guest, s.GuestState)
}

func showGuests(s *cli.Printer, d document.TargetDetail) {
	if len(d.Guests) == 0 {
		return
	}
	rows := [][]string{}
	for _, g := range d.Guests {
		target, state := "-", ""
		if g.Target != nil {
			target, state = g.Target.Name, string(g.Target.State)
		}
		if g.Conflict {
			state = "several reports have its machine ID"
		}
		rows = append(rows, []string{g.Name, string(g.State), target, state})
	}
	s.Printf("\n")
	s.Style().Table(s.App.Stdout, []string{"GUEST", "STATE", "TARGET", "STATE OF TARGET"}, rows)
	if d.MoreGuests > 0 {
		s.Printf("%d more guests are not reported.\n", d.MoreGuests)
	}
}
