package rollout

import "fmt"

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

// stoppedText describes a rollout that grants nothing.
func (r *Rollout) stoppedText() string {
	text := fmt.Sprintf("the rollout %s is %s", r.ID, r.Phase)
	if r.By != "" {
		text += " by " + r.By
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

// laterText describes why a wave has not begun.
func (r *Rollout) laterText(wave int) string {
	size, ready, _ := r.Progress(r.Wave)
	text := fmt.Sprintf("it is in the wave %s of the rollout %s, and the current wave is %s (%d of %d ready",
		r.Plan.Waves[wave].Name, r.ID, r.Plan.Waves[r.Wave].Name, ready, size)
	if r.Settled > 0 {
		text += ", in its bake time"
	}
	return text + ")"
}
