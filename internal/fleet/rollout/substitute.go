package rollout

// substitute exchanges members of the current wave that cannot be changed now for members of later waves that can.
// A wave whose members the strategy selects keeps them.
func (t *turn) substitute(r *Rollout) {
	if r.Phase != Active || r.Plan.Waves[r.Wave].Selected {
		return
	}
	ids := t.ids(r)
	next := 0
	for _, id := range ids {
		if m := r.Members[id]; m.Wave != r.Wave || !m.untouched() || t.changeableIn(r, id) {
			continue
		}
		for next < len(ids) && !t.replaces(r, ids[next]) {
			next++
		}
		if next == len(ids) {
			return
		}
		other := ids[next]
		t.add(r, Event{Kind: Joined, Target: id, Wave: r.Members[other].Wave})
		t.add(r, Event{Kind: Joined, Target: other, Wave: r.Wave})
	}
}

// replaces reports whether a member of a later wave can be in the current wave.
func (t *turn) replaces(r *Rollout, id ID) bool {
	m := r.Members[id]
	return m.Wave > r.Wave && m.untouched() && t.changeableIn(r, id) && !r.Plan.Waves[m.Wave].Selected
}

// changeable reports whether a target can be reached and is not held.
func (t *turn) changeable(id ID) bool {
	target := t.w.Targets[id]
	return target.Online && target.Hold == ""
}

// changeableIn reports whether a member can get the changes of its rollout now.
func (t *turn) changeableIn(r *Rollout, id ID) bool {
	target := t.w.Targets[id]
	return t.changeable(id) && target.waitsIn(r) == "" && requiring{t.s, id, target}.in(r) == "" &&
		t.w.unapproved(r, id) == ""
}
