package rollout

import "slices"

// addition returns a change as it is for a target: Adds is set if only the addition of the part needs a rollout.
func (s *State) addition(id ID, target Target, c Change) Change {
	c.Adds = false
	if !target.isForeign(c.Part) && (!slices.Contains(target.Missing, c.Part) || s.IsOwed(id, c.Part)) {
		return c
	}
	added := Change{Part: c.Part, Digest: c.Digest, Adds: true}
	if s.free(target.Lane, c) || s.HeldBy(target.Lane, added) != "" {
		return added
	}
	return c
}

// mark sets Change.Adds in the changes of some targets of the world, and reports whether it changed any.
func mark(s *State, w World, ids []ID) (changed bool) {
	for _, id := range ids {
		target := w.Targets[id]
		differs := func(c Change) bool { return s.addition(id, target, c) != c }
		if !slices.ContainsFunc(target.Wants, differs) {
			continue
		}
		target.Wants = slices.Clone(target.Wants) // targets share their lists
		for i, c := range target.Wants {
			target.Wants[i] = s.addition(id, target, c)
		}
		w.Targets[id], changed = target, true
	}
	return changed
}

// adds reports whether the rollout adds a stable part.
func (r *Rollout) adds(part string) bool {
	return slices.ContainsFunc(r.Plan.Changes, func(c Change) bool { return c.Adds && c.Part == part })
}
