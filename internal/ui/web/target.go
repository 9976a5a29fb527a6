package web

import (
	"cmp"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// targetData is the data of the page of a target.
type targetData struct {
	document.TargetDetail
	Facts  []fact
	Labels []fact
	Events []document.Event // the newest first
	// Module is the module whose state is explained, or nil.
	Module *document.Explanation
	Graph  *drawing
}

// fact is a name with a value.
type fact struct{ Name, Value string }

func sortedFacts(all map[string]string) (out []fact) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, fact{name, all[name]})
	}
	return out
}

// targetPage shows a target, its modules, its events, and why one module has its state.
func targetPage(v *visit) (*page, error) {
	at := route.TargetName{Target: v.PathValue("target")}
	detail, err := get(v, route.Target(), at)
	if err != nil {
		return nil, err
	}
	d := targetData{TargetDetail: detail, Facts: sortedFacts(detail.Facts), Labels: sortedFacts(detail.Target.Labels),
		Graph: moduleGraph(detail.Modules)}
	events, err := get(v, route.Events(), route.EventQuery{Target: string(detail.Target.ID), Limit: 50})
	if err != nil {
		return nil, err
	}
	slices.Reverse(events.Events)
	d.Events = events.Events
	name := cmp.Or(detail.Target.Name, string(detail.Target.ID))
	command := commandOf("fettle", "target", "show", name)
	if module, ok := asked(v, "explain"); ok {
		why, err := get(v, route.Explain(), route.TargetModule{Target: at.Target, Module: module})
		if err != nil {
			return nil, err
		}
		d.Module, command = &why, commandOf("fettle", "explain", name, partName(module))
	}
	return &page{Title: name, Tab: "/", Template: "target", Data: d, Command: command,
		Address: address(route.Target(), at)}, nil
}

// asked returns a parameter of the query, and whether it is there.
func asked(v *visit, name string) (string, bool) {
	all, ok := v.URL.Query()[name]
	if !ok || len(all) != 1 {
		return "", false
	}
	return all[0], true
}

// freezable reports whether a target can be frozen.
func (d targetData) Freezable() bool {
	return d.Target.Standing == fleet.Active && d.Target.Frozen == ""
}
