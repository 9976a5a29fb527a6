package rollout

import "slices"

// grant permits the change to as many members of the waves so far as the limits allow.
func (t *turn) grant(r *Rollout) {
	if r.Phase != Active {
		return
	}
	t.substitute(r)
	free, limits, within := r.free(), t.limits(r), organizationsOf(t)
	for _, id := range t.ids(r) {
		// A member that failed already is lost: no limit keeps the change from it, which may be its correction.
		lost := t.w.Targets[id].Health == Broken
		if m := r.Members[id]; m.State == MemberPending && m.Wave <= r.Wave && (lost || free > 0) &&
			limits.allow(t, id, lost) && (lost || within.full(t, id) == "") && t.grantable(r, id) {
			t.add(r, Event{Kind: Granted, Target: id, Before: t.before(r, id), Lost: lost})
			limits.count(t, id, lost)
			if !lost {
				within.count(t, id, true)
				free--
			}
		}
	}
}

// grantable reports whether a target can be changed now. A target takes part in one movement at a time.
func (t *turn) grantable(r *Rollout, id ID) bool {
	if !t.changeableIn(r, id) {
		return false
	}
	for _, other := range t.s.Open() {
		m := other.Members[id]
		if other != r && m != nil && (m.moving() || other.Phase == RollingBack && m.touched()) {
			return false
		}
	}
	return true
}

// before returns the present content of the parts that a rollout changes; nil if the target has no assignment.
func (t *turn) before(r *Rollout, id ID) []Change {
	target := t.w.Targets[id]
	if target.New {
		return nil
	}
	var out []Change
	for _, c := range sortedChanges(slices.Clone(target.Wants)) { // as in the plan
		if r.has(c) {
			out = append(out, Change{Part: c.Part, Digest: t.w.Has(id, c.Part)})
		}
	}
	return out
}
