package rollout

// Reason returns why a target does not have a change yet, for users: the rollout, its wave, and the obstacles on the
// target itself. Call it after Decide.
func (s *State) Reason(id ID, target Target, c Change) string {
	_, why := s.Permits(id, target, c)
	if target.Hold != "" {
		why += "; it must not be changed now: " + target.Hold
	}
	if !target.Online {
		why += "; it has no contact"
	}
	return why
}
