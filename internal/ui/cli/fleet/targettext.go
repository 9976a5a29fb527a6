package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func showTargets(s *cli.Printer, p document.TargetPage, alarms []document.Alarm) {
	rows, kept, refused := [][]string{}, map[string]string{}, map[string]string{}
	for _, a := range alarms {
		for _, name := range a.Targets {
			if a.Kind == string(assign.Incompatible) {
				refused[name] = a.Text
			}
			kept[name] = cmp.Or(kept[name], a.Text)
		}
	}
	if len(p.Targets) == 0 {
		s.Printf("No target of the fleet matches. Enrol hosts: fettle token create\n")
		return
	}
	for _, t := range p.Targets {
		rows = append(rows, []string{t.Name, string(t.Standing), string(t.State), hubclient.Applied(t.Modules, t.Behind),
			strconv.Itoa(t.Drift), contact(s, t), fewer(labelText(t.Labels), 40),
			cmp.Or(refused[t.Name], t.Error, suspectText(t.Suspect), t.Frozen, t.Waits, kept[t.Name], pinText(t.Pin))})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STANDING", "STATE", "MODULES", "DRIFT", "CONTACT", "LABELS",
		"REASON"}, rows)
	if left := p.Total - len(p.Targets); left > 0 {
		s.Printf("%d more; see them with --limit\n", left)
	}
}

func contact(s *cli.Printer, t document.Target) string {
	if t.Connected {
		return "now"
	}
	return hubclient.AgoText(s, t.Contact)
}

func labelText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, strings.TrimSuffix(k+"="+labels[k], "="))
	}
	return strings.Join(out, ",")
}

// fewer cuts text for a column.
func fewer(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func pinText(p *fleet.Pin) string {
	if p == nil {
		return ""
	}
	return cli.JoinWords("pinned to", p.Ref, p.Module)
}

func suspectText(p *fleet.Suspicion) string {
	if p == nil {
		return ""
	}
	return cli.JoinWords("suspect:", p.Reason)
}

func suspectOf(s *cli.Printer, p *fleet.Suspicion) string {
	if p == nil {
		return ""
	}
	return cli.JoinWords(p.Reason, "by", p.By) + hubclient.Parted(", ", s.Moment(p.Since*1e9))
}

// copiesText lists the hosts that have the identity of a target, one in each line.
func copiesText(s *cli.Printer, p *fleet.Suspicion) string {
	if p == nil {
		return ""
	}
	var lines []string
	for _, c := range p.Copies {
		lines = append(lines, cli.JoinWords(cmp.Or(c.Host, "unnamed")+",", "boot", cmp.Or(c.Boot, "unknown")+",",
			"machine_id",
			cmp.Or(c.Machine, "unknown"))+hubclient.Parted(", claimed ", s.Moment(c.Seen*1e9)))
	}
	return strings.Join(lines, "\n")
}

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
		{Name: "contact", Value: contact(s, t)},
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
	if len(d.Modules) == 0 {
		return
	}
	s.Printf("\n")
	rows := [][]string{}
	for _, m := range d.Modules {
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
