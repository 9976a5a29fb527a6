package exports

import (
	"context"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// HandleRoutes registers the handler of exported values.
func (v *Values) HandleRoutes(t *api.Table) { api.HandleGet(t, route.Exports(), v.Exports) }

// Exports returns the exported values of all active targets, and the values in assignments.
func (v *Values) Exports(context.Context) (document.Exports, error) {
	out := document.Exports{Format: document.ExportsFormat, Exports: []document.Export{}}
	var used []exported.Table
	users := map[string]int{}
	tables := map[string]exported.Table{}
	values := map[string]map[string]exported.Value{}
	v.Records.Assignments.Each(func(key string, g records.Assignment, _ uint64) {
		if t, _, ok := v.Records.Targets.Get(key); !ok || t.Standing != fleet.Active {
			return
		}
		for _, t := range g.Assignment.Exported {
			at := t.Module + "\x00" + t.Output
			if values[at] == nil {
				tables[at] = exported.Table{Module: t.Module, Output: t.Output, Type: t.Type}
				values[at] = map[string]exported.Value{}
			}
			for _, value := range t.Values {
				users[at+"\x00"+value.Key()]++
				values[at][value.Key()] = value
			}
		}
	})
	for _, at := range slices.Sorted(maps.Keys(tables)) {
		t := tables[at]
		t.Values = slices.Collect(maps.Values(values[at]))
		used = append(used, t)
	}
	exported.Sort(used)
	out.Snapshot = string(exported.Text(used))
	v.Records.Exports.Each(func(key string, e records.Exports, _ uint64) {
		t, _, ok := v.Records.Targets.Get(key)
		if !ok || t.Standing != fleet.Active {
			return
		}
		for _, o := range e.Values {
			value := exported.Value{Target: t.Name, As: o.As}
			out.Exports = append(out.Exports, document.Export{Target: t.Name, Module: o.Module, As: o.As, Output: o.Output,
				Value: o.Value, Since: e.Since,
				Users: users[o.Module+"\x00"+o.Output+"\x00"+value.Key()]})
		}
	})
	slices.SortStableFunc(out.Exports, func(a, b document.Export) int { return strings.Compare(a.Target, b.Target) })
	return out, nil
}
