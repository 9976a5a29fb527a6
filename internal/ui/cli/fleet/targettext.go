package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// mostOnPage is the largest number of targets in one answer of a hub.
const mostOnPage = 10_000

func showTargets(s *cli.Printer, p document.TargetPage, alarms []document.Alarm) {
	if p.States != nil {
		showGroups(s, p)
		return
	}
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
	if p.Cursor != "" && len(p.Targets) >= mostOnPage {
		s.Printf("See the next targets with --after %s\n", p.Cursor)
	}
}

// showGroups shows the numbers of targets in each state.
func showGroups(s *cli.Printer, p document.TargetPage) {
	all := document.TargetGroup{Name: "all", States: p.States}
	for _, n := range p.States {
		all.Total += n
	}
	head := []string{"GROUP", "TARGETS"}
	var states []document.State
	for _, state := range document.States() {
		if p.States[state] > 0 {
			head, states = append(head, strings.ToUpper(string(state))), append(states, state)
		}
	}
	var rows [][]string
	for _, g := range append(p.Groups, all) {
		row := []string{cmp.Or(g.Name, "none"), strconv.Itoa(g.Total)}
		for _, state := range states {
			row = append(row, strconv.Itoa(g.States[state]))
		}
		rows = append(rows, row)
	}
	s.Style().Table(s.App.Stdout, head, rows)
	if p.MoreGroups > 0 {
		s.Printf("%d more groups\n", p.MoreGroups)
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
