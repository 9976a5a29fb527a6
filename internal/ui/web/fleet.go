package web

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// rowsPerPage is the number of targets in the table of the fleet page.
const rowsPerPage = 50

// fleetData is the data of the fleet page.
type fleetData struct {
	Status document.Status
	States []stateCount
	Alarms int
	Select string // as the user wrote it
	State  string // only targets in this state; "" means all
	By     string // the label of the groups; "" means one group
	Sort   string
	Total  int
	Groups []tileGroup
	Labels []string // that targets have
	Rows   []document.Target
	Offset int
	Next   string // address of the next page of the table; "" means none
	Before string
}

// fleetPage shows all targets: one tile for each, and a table.
func fleetPage(v *visit) (*page, error) {
	q := v.URL.Query()
	d := fleetData{Select: strings.TrimSpace(q.Get("select")), State: q.Get("state"), By: q.Get("by"),
		Sort: cmp.Or(q.Get("sort"), "state")}
	d.Offset, _ = strconv.Atoi(q.Get("offset"))
	d.Offset = max(0, d.Offset)
	at := route.TargetQuery{Select: strings.Fields(d.Select), Sort: d.Sort}
	all, err := get(v, route.Targets(), at)
	if err != nil {
		return nil, err
	}
	if d.Status, err = get(v, route.Status(), route.None{}); err != nil {
		return nil, err
	}
	alarms, err := get(v, route.Alarms(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Alarms, d.States = len(alarms.Alarms), stateCounts(countStates(all.Targets))
	if d.State != "" {
		all.Targets = slices.DeleteFunc(all.Targets, func(t document.Target) bool { return string(t.State) != d.State })
		all.Total = len(all.Targets)
	}
	d.Total = all.Total
	d.Groups, d.Labels = tileGroups(all.Targets, d.By), labelsOf(all.Targets)
	d.Rows = all.Targets[min(d.Offset, len(all.Targets)):min(d.Offset+rowsPerPage, len(all.Targets))]
	if d.Offset+rowsPerPage < len(all.Targets) {
		d.Next = withOffset(q, d.Offset+rowsPerPage)
	}
	if d.Offset > 0 {
		d.Before = withOffset(q, max(0, d.Offset-rowsPerPage))
	}
	words := []string{"fettle", "target", "list"}
	for _, s := range at.Select {
		words = append(words, "-t", s)
	}
	return &page{Title: "Fleet", Tab: "/", Template: "fleet", Data: d, Command: commandOf(words...),
		Address: address(route.Targets(), at)}, nil
}

// withOffset returns the address of another page of the table.
func withOffset(q url.Values, offset int) string {
	q = maps.Clone(q)
	q.Set("offset", strconv.Itoa(offset))
	return "/?" + q.Encode() + "#targets"
}

// labelsOf returns the names of the labels of targets, sorted.
func labelsOf(all []document.Target) []string {
	seen := map[string]bool{}
	for _, t := range all {
		for name := range t.Labels {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
