package rollout

import "slices"

// HeldBy returns the ID of the rollout because of which a change is held, or "". Content remains held until it is
// released, or a later rollout of it is complete. So a commit that restores held content does not roll it out again.
func (s *State) HeldBy(lane string, c Change) string { return s.held[place{lane, c}] }

// Holds reports whether targets lack content that is held because of a rollout. It is false while all targets of the
// lane have the content or want a different one.
func (s *State) Holds(r *Rollout) bool { return !r.Unwanted && s.keeps(r) }

// HoldsAny reports whether targets lack content that is held.
func (s *State) HoldsAny() bool {
	return slices.ContainsFunc(s.All(), s.Holds)
}

// keeps reports whether content is held because of a rollout.
func (s *State) keeps(r *Rollout) bool {
	return slices.ContainsFunc(r.Plan.Changes, func(c Change) bool { return s.HeldBy(r.Plan.Lane, c) == r.ID })
}

// hold keeps the content of a rollout from being rolled out again, except for content that is stable by now. Content
// that an operator released during the rollback stays released, and another open rollout continues with its content.
func (s *State) hold(r *Rollout) {
	if r.released {
		return
	}
	for _, c := range r.Plan.Changes {
		if !s.free(r.Plan.Lane, c) && !s.continues(r, c) {
			s.held[place{r.Plan.Lane, c}] = r.ID
		}
	}
}

// unhold permits the content of a rollout.
func (s *State) unhold(r *Rollout) {
	for _, c := range r.Plan.Changes {
		delete(s.held, place{r.Plan.Lane, c})
	}
}

// continues reports whether another open rollout delivers a change: it has taken over the members.
func (s *State) continues(r *Rollout, c Change) bool {
	return slices.ContainsFunc(s.Open(), func(o *Rollout) bool {
		return o != r && o.Phase != RollingBack && o.Plan.Lane == r.Plan.Lane && o.has(c)
	})
}
