package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// A target may change its exported values exportBurst times at once, and then once per exportEvery.
// A working agent changes them less often.
const (
	exportBurst = 12
	exportEvery = time.Minute
)

func exportPaces() limits.TargetLimiter {
	return limits.TargetLimiter{Every: rate.Every(exportEvery), Burst: exportBurst}
}

// onExports stores the exported values of a target. They are durable when it returns nil. The
// connection has authenticated the target.
func (h *Hub) onExports(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	t, err := h.targets.Trusted(ctx, from)
	if err != nil {
		return nil, err
	}
	e, err := fleet.ParseExports(body)
	if err != nil {
		return nil, err
	}
	was, rev, _ := h.records.Exports.Get(string(from))
	if exported.SameOwn(was.Values, e.Values) {
		return nil, h.confirmExports(ctx, from, rev)
	}
	if ok, tell := h.exporting.Take(from, h.now()); !ok {
		if tell {
			h.events.Note(ctx, fleet.HubEvent{Kind: fleet.ExportsChanged, Target: from,
				Text:  "changes its exported values again and again: targets that use them get changes once a minute",
				Error: "does " + t.Name + " use exported values that depend on its own?"})
		}
		return nil, fmt.Errorf("cannot accept new values yet: they changed more than %d times in %s", exportBurst, exportBurst*exportEvery)
	}
	if len(e.Values) == 0 {
		err = h.records.Exports.Remove(ctx, string(from))
	} else {
		err = h.records.Exports.Put(ctx, string(from), records.Exports{Values: e.Values, Since: h.now().UnixNano()}, rev)
	}
	if err != nil {
		return nil, err
	}
	return nil, h.events.Record(ctx, fleet.HubEvent{Kind: fleet.ExportsChanged, Target: from, Text: exportText(was.Values, e.Values)})
}

// confirmExports returns nil if the store has the exported values of a target at a revision. The
// mirror may be behind, and an agent does not repeat values that a hub has acknowledged.
func (h *Hub) confirmExports(ctx context.Context, from fleet.TargetID, rev uint64) error {
	if rev == 0 {
		return h.records.Exports.Absent(ctx, string(from))
	}
	e, err := h.records.Exports.Newest(ctx, string(from))
	if err == nil && e.Rev != rev {
		err = fmt.Errorf("cannot accept the values yet: %w", fleet.ErrConflict)
	}
	return err
}

// onExported passes changed values to the leader's computation, if this hub leads.
func (h *Hub) onExported(key string, e records.Exports, rev uint64, gone bool) {
	h.tell(assign.Event{Rev: rev, Kind: assign.ExportsEvent, Key: key, Exports: unless(gone, &e.Values)})
}

// exportText lists the names of changed outputs. It omits the values, since they may be long.
func exportText(was, now []exported.Own) string {
	before, names := map[exported.Own]bool{}, map[string]bool{}
	for _, o := range was {
		before[o] = true
	}
	for _, o := range now {
		if !before[o] {
			names[o.Output+" of "+o.Module] = true
		}
		delete(before, o)
	}
	for o := range before {
		names[o.Output+" of "+o.Module] = true
	}
	list := slices.Sorted(maps.Keys(names))
	if more := len(list) - 5; more > 0 {
		list = append(list[:5], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// forgetExports removes the exported values of a target that has left the fleet.
func (h *Hub) forgetExports(key string) {
	h.exporting.Forget(fleet.TargetID(key))
	h.notices.Compatible(fleet.TargetID(key))
	if err := h.records.Exports.Remove(h.ctx, key); err != nil && h.ctx.Err() == nil {
		h.warn("cannot remove the exported values of a target that has left the fleet: " + err.Error())
	}
}

// Exports returns the exported values of all active targets, and the values in assignments.
func (h *Hub) Exports(context.Context) (document.Exports, error) {
	out := document.Exports{Exports: []document.Export{}}
	var used []exported.Table
	users := map[string]int{}
	tables := map[string]exported.Table{}
	values := map[string]map[string]exported.Value{}
	h.records.Assignments.Each(func(key string, g records.Assignment, _ uint64) {
		if t, _, ok := h.records.Targets.Get(key); !ok || t.Standing != fleet.Active {
			return
		}
		for _, t := range g.Assignment.Exported {
			at := t.Module + "\x00" + t.Output
			if values[at] == nil {
				tables[at], values[at] = exported.Table{Module: t.Module, Output: t.Output, Type: t.Type}, map[string]exported.Value{}
			}
			for _, v := range t.Values {
				users[at+"\x00"+v.Key()]++
				values[at][v.Key()] = v
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
	h.records.Exports.Each(func(key string, e records.Exports, _ uint64) {
		t, _, ok := h.records.Targets.Get(key)
		if !ok || t.Standing != fleet.Active {
			return
		}
		for _, o := range e.Values {
			v := exported.Value{Target: t.Name, As: o.As}
			out.Exports = append(out.Exports, document.Export{Target: t.Name, Module: o.Module, As: o.As, Output: o.Output, Value: o.Value, Since: e.Since,
				Users: users[o.Module+"\x00"+o.Output+"\x00"+v.Key()]})
		}
	})
	slices.SortStableFunc(out.Exports, func(a, b document.Export) int { return strings.Compare(a.Target, b.Target) })
	return out, nil
}
