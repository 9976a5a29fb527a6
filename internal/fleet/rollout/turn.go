package rollout

import (
	"maps"
	"slices"
)

// turn is the state of one Decide.
type turn struct {
	s   *State
	w   World
	now int64
	log []Event

	targets []ID            // of the world, sorted
	wanting map[Change][]ID // targets that want a change, sorted
	members map[string][]ID // of rollouts, sorted
}

func newTurn(s *State, w World, now int64) *turn {
	t := &turn{s: s, w: w, now: now, targets: w.Order, wanting: map[Change][]ID{}, members: map[string][]ID{}}
	if t.targets == nil {
		t.targets = sorted(w.Targets)
	}
	for _, id := range t.targets {
		for _, c := range w.Targets[id].Wants {
			t.wanting[c] = append(t.wanting[c], id)
		}
	}
	return t
}

// want returns the targets that want one of the changes, sorted.
func (t *turn) want(all []Change) (out []ID) {
	if len(all) == 1 {
		return t.wanting[all[0]]
	}
	for _, c := range all {
		out = append(out, t.wanting[c]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ids returns the members of a rollout, sorted. Members are never removed, so their number shows whether there are
// new ones.
func (t *turn) ids(r *Rollout) []ID {
	if len(t.members[r.ID]) != len(r.Members) {
		t.members[r.ID] = sorted(r.Members)
	}
	return t.members[r.ID]
}

func (t *turn) add(r *Rollout, e Event) {
	e.Rollout, e.At = r.ID, t.now
	t.s.Fold(e)
	t.log = append(t.log, e)
}

// note adds an event that is not about a rollout.
func (t *turn) note(e Event) { t.add(&Rollout{}, e) }

func (t *turn) about(r *Rollout, kind Kind, id ID, why string) {
	t.add(r, Event{Kind: kind, Target: id, Why: why})
}

// replaced returns true if other content is desired for a part of the rollout.
func (t *turn) replaced(r *Rollout, target Target) bool {
	return slices.ContainsFunc(target.Wants, func(c Change) bool { return !r.has(c) && r.part(c.Part) })
}

// sorted returns the keys of a map of targets in order.
func sorted[V any](m map[ID]V) []ID { return slices.Sorted(maps.Keys(m)) }

// sortedLanes returns the keys of a map of lanes in order.
func sortedLanes[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
