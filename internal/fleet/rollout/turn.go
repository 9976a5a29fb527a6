package rollout

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// turn is the state of one Decide.
type turn struct {
	s   *State
	w   World
	now int64
	log []Event

	targets []ID                       // of the world, sorted
	wanting map[Change][]ID            // targets that want a change, sorted
	members map[string][]ID            // of rollouts, sorted
	within  map[fleet.Organization]int // see sizes
	missing []ID                       // targets with Target.Missing or Target.Foreign, sorted
}

func newTurn(s *State, w World, now int64) *turn {
	t := &turn{s: s, w: w, now: now, targets: w.Order, members: map[string][]ID{}}
	if t.targets == nil {
		t.targets = sorted(w.Targets)
	}
	for _, id := range t.targets {
		if target := w.Targets[id]; len(target.Missing)+len(target.Foreign) > 0 {
			t.missing = append(t.missing, id)
		}
	}
	t.wanting = wantedBy(w, t.targets)
	t.mark()
	return t
}

// mark sets Change.Adds in the desired changes of targets.
func (t *turn) mark() {
	if mark(t.s, t.w, t.missing) {
		t.wanting = wantedBy(t.w, t.targets)
	}
}

// wantedBy returns the targets of each desired change, in the order of ids.
func wantedBy(w World, ids []ID) map[Change][]ID {
	out := map[Change][]ID{}
	for _, id := range ids {
		for _, c := range w.Targets[id].Wants {
			out[c] = append(out[c], id)
		}
	}
	return out
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
