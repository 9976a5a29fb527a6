package rollout

// Allowed returns true if a target may have a change of its desired content. Call it after Decide. why is the reason,
// for users. Returns has priority.
func (s *State) Allowed(id ID, lane string, c Change) (allowed bool, why string) {
	for _, r := range s.Open() {
		if m := r.Members[id]; m != nil && m.touched() && r.has(c) && r.Phase != RollingBack {
			return true, "the rollout " + r.ID + " granted it"
		}
	}
	switch by := s.HeldBy(lane, c); {
	case s.skipped[id][c] != "":
		return false, "an operator skipped it in the rollout " + s.skipped[id][c]
	case by != "":
		return false, "held since the rollout " + by + " ended"
	case s.free(lane, c):
		return true, "the content is stable"
	}
	return false, "it waits for a rollout"
}

// Returns returns the parts that a target must have again, because a rollout is being rolled back. The
// target can have them already, and the desired content can be different.
func (s *State) Returns(id ID) []Change {
	for _, r := range s.Open() {
		if m := r.Members[id]; m != nil && r.Phase == RollingBack && m.touched() {
			return m.Before
		}
	}
	return nil
}
