package push

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// change is the change of the rollout.
func (m *Machine) change() rollout.Change {
	return rollout.Change{Part: "content", Digest: m.order.Content}
}

// world describes the targets for package rollout.
func (m *Machine) world(now int64) rollout.World {
	w := rollout.World{Targets: map[rollout.ID]rollout.Target{},
		Has: m.has, Up: m.up, OpenFor: m.openFor,
		Strategy: func(string, []rollout.Change) rollout.Strategy { return m.strategy() },
		Cause:    func(string, []rollout.Change) string { return m.order.Cause }}
	for id, t := range m.targets {
		seen := m.seen(string(id), t, now)
		seen.Labels = m.order.Labels[string(id)]
		w.Targets[id] = seen
	}
	return w
}

// has returns the content that is assigned to a target.
func (m *Machine) has(id rollout.ID, _ string) string {
	if m.targets[id].lacks() {
		return previous
	}
	return m.order.Content
}

// seen describes one target. It is healthy for a time only if a check succeeded after this time.
func (m *Machine) seen(name string, t *target, now int64) rollout.Target {
	out := rollout.Target{Lane: lane, Health: t.health, Since: t.since, Online: t.online, Contact: t.contact,
		New: t.isNew()}
	if t.lacks() {
		out.Wants = []rollout.Change{m.change()}
		out.Hold = t.windows.closed(now)
		if out.Closed = out.Hold != ""; !out.Closed {
			out.Hold = m.awaits(name)
		}
	}
	if t.health == rollout.Healthy && t.checked < t.since+m.order.Strategy.MinReadyTime {
		out.Since = now
	}
	return out
}

// tasks returns the tasks that can begin now, the most urgent ones first.
func (m *Machine) tasks(now int64) (out []Task) {
	urgency := []Operation{Return, Apply, Plan, Check}
	for _, id := range slices.Sorted(maps.Keys(m.targets)) {
		t := m.targets[id]
		op := m.operation(id, t)
		if op == Apply && t.changes && t.windows.closed(now) != "" {
			continue
		}
		if op == "" || t.task != "" || now < t.next && (op != Return || !t.online) {
			continue
		}
		task := Task{Target: string(id), Operation: op}
		if op == Return {
			task.Base = *t.base
		}
		out = append(out, task)
	}
	slices.SortStableFunc(out, func(a, b Task) int {
		return slices.Index(urgency, a.Operation) - slices.Index(urgency, b.Operation)
	})
	return out
}

// operation returns what a target needs, or "".
func (m *Machine) operation(id rollout.ID, t *target) Operation {
	r := m.Rollout()
	switch {
	case r != nil && (r.Phase.Final() || r.Phase == rollout.OnHold):
		return ""
	case !t.planned:
		return Plan
	case r == nil || t.excluded:
		return ""
	case len(m.state.Returns(id)) > 0:
		return returning(t)
	}
	member := r.Members[id]
	if member == nil || r.Phase == rollout.RollingBack {
		return ""
	}
	switch member.State {
	case rollout.MemberGranted, rollout.MemberSilent:
		if !t.changes && t.health == rollout.Healthy {
			return Check
		}
		return Apply
	case rollout.MemberReady:
		return Check
	}
	return ""
}

// returning returns the operation of a target that must have its previous content.
func returning(t *target) Operation {
	if t.base == nil || t.returned {
		return ""
	}
	return Return
}
