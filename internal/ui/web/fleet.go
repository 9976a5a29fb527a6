package web

import (
	"cmp"
	"net/url"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// rowsPerPage is the number of targets in the table of the fleet page.
const rowsPerPage = 50

// mostDrawn is the number of targets of which the fleet page has tiles. It shows more targets as groups.
const mostDrawn = 10_000

// fleetData is the data of the fleet page.
type fleetData struct {
	Status document.Status
	States []stateCount
	Alarms int
	Select string // as the user wrote it
	State  string // only targets in this state; "" means all
	// Supervisor is a target, by identity or name: only targets that run in its guests. "" means all.
	Supervisor string
	By         string // the label of the groups, fleet, module or scope; "" means one group
	Sort       string
	Total      int
	Groups     []tileGroup
	Others     int      // number of further groups
	Labels     []string // that targets have
	Rows       []document.Target
	First      string // address of the first page of the table; "" means that this is the first one
	Next       string // address of the next page of the table; "" means none
}

// fleetPage shows all targets: tiles or groups, and a table.
func fleetPage(v *visit) (*page, error) {
	q := v.URL.Query()
	d := fleetData{Select: strings.TrimSpace(q.Get("select")), State: q.Get("state"), By: q.Get("by"),
		Sort: cmp.Or(q.Get("sort"), "state"), Supervisor: strings.TrimSpace(q.Get("supervisor"))}
	at := route.TargetQuery{Select: strings.Fields(d.Select), Sort: d.Sort, State: d.State, Supervisor: d.Supervisor,
		By: grouping(d.By), Limit: rowsPerPage, After: q.Get("after")}
	shown, err := get(v, route.Targets(), at)
	if err != nil {
		return nil, err
	}
	if d.Status, err = get(v, route.Status(), route.None{}); err != nil {
		return nil, err
	}
	if !isTenant(v.user) { // alarms belong to the whole fleet
		alarms, err := get(v, route.Alarms(), route.None{})
		if err != nil {
			return nil, err
		}
		d.Alarms = len(alarms.Alarms)
	}
	d.States, d.Labels = stateCounts(shown.States), shown.Labels
	d.Total, d.Rows = shown.Total, shown.Targets
	if err := d.draw(v, at, shown); err != nil {
		return nil, err
	}
	if at.After != "" {
		d.First = pageAfter("/", q, "") + "#targets"
	}
	if shown.Cursor != "" {
		d.Next = pageAfter("/", q, shown.Cursor) + "#targets"
	}
	return &page{Title: "Fleet", Tab: "/", Template: "fleet", Data: d, Command: d.command(q, at),
		Address: address(route.Targets(), at)}, nil
}

// grouping returns the groups of a request. Labels that have the name of another group begin with label:.
func grouping(by string) string {
	switch {
	case by == "":
		return "all"
	case by == "fleet", by == "module", by == "scope", strings.HasPrefix(by, "label:"):
		return by
	}
	return "label:" + by
}

// draw sets the groups: with a tile for each target, or with numbers if there are very many.
func (d *fleetData) draw(v *visit, at route.TargetQuery, counts document.TargetPage) error {
	if counts.Total <= mostDrawn && at.By != "module" && at.By != "scope" {
		at.Limit, at.After, at.By, at.Sort = 0, "", "", ""
		all, err := get(v, route.Targets(), at)
		d.Groups = tileGroups(all.Targets, grouping(d.By))
		return err
	}
	groups := counts.Groups
	if d.By == "" {
		all := document.TargetGroup{Total: counts.Total, States: counts.States}
		if d.State != "" {
			all.States = map[document.State]int{document.State(d.State): counts.Total}
		}
		groups = []document.TargetGroup{all}
	}
	for _, g := range groups {
		out := tileGroup{Name: g.Name, Count: g.Total, States: stateCounts(g.States), Page: d.narrow(g)}
		out.bar()
		d.Groups = append(d.Groups, out)
	}
	d.Others = counts.MoreGroups
	return nil
}

// narrow returns the address of a page about a group, or "". Several words of a selection add targets, so it cannot
// be narrower than another selection.
func (d *fleetData) narrow(g document.TargetGroup) string {
	label, isLabel := strings.CutPrefix(grouping(d.By), "label:")
	switch {
	case g.Name == "":
		return ""
	case d.By == "scope":
		return scopePath(g.Name)
	case d.By == "module":
		return "/modules/" + url.PathEscape(g.Name)
	case !isLabel, d.Select != "", strings.ContainsAny(label+g.Name, ":=,%+"), !plainWord().MatchString(label + g.Name):
		return ""
	}
	q := url.Values{"select": {"label:" + label + "=" + g.Name}}
	for name, value := range map[string]string{"state": d.State, "supervisor": d.Supervisor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return "/?" + q.Encode()
}

// command returns the list on the command line.
func (d *fleetData) command(q url.Values, at route.TargetQuery) string {
	words := []string{"fettle", "target", "list"}
	for _, s := range at.Select {
		words = append(words, "-t", s)
	}
	for _, flag := range [][2]string{{"supervisor", "--supervisor"}, {"state", "--in-state"}, {"sort", "--sort"},
		{"after", "--after"}} {
		if text := strings.TrimSpace(q.Get(flag[0])); text != "" {
			words = append(words, flag[1], text)
		}
	}
	return commandOf(words...)
}
