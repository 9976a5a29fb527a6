package rollout

// Reason returns why a target does not have a change yet, for users: the rollout, its wave, and the obstacles on the
// target itself. Call it after Decide.
func (s *State) Reason(id ID, target Target, c Change) string {
	_, why := s.Permits(id, target, c)
	return target.obstacles(why)
}

// PermitsOrWhy is Permits with the text of Reason if the change is not permitted.
func (s *State) PermitsOrWhy(id ID, target Target, c Change) (allowed bool, why string) {
	if allowed, why = s.Permits(id, target, c); !allowed {
		why = target.obstacles(why)
	}
	return allowed, why
}

// obstacles adds the obstacles on the target itself to a reason.
func (t Target) obstacles(why string) string {
	if t.Hold != "" {
		why += "; it must not be changed now: " + t.Hold
	}
	if !t.Online {
		why += "; it has no contact"
	}
	return why
}
