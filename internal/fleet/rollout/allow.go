package rollout

import "fmt"

// Allowed returns true if a target may have a change of its desired content. Call it after Decide. why is the reason,
// for users. Returns has priority.
func (s *State) Allowed(id ID, lane string, c Change) (allowed bool, why string) {
	for _, r := range s.Open() {
		if r.granted(id, c) {
			return true, "the rollout " + r.ID + " granted it"
		}
	}
	switch by := s.HeldBy(lane, c); {
	case s.skipped.by(id, c) != "":
		return false, "an operator skipped it in the rollout " + s.skipped.by(id, c)
	case by != "":
		return false, "held since the rollout " + by + " ended"
	case s.free(lane, c) && s.CatchesUp(id):
		return true, "the content is stable"
	case s.free(lane, c):
		return false, s.queue(lane)
	}
	return false, s.waiting(id, lane, c)
}

// waiting returns the reason why a target does not have a change yet.
func (s *State) waiting(id ID, lane string, c Change) string {
	why := position(s.Open(), id, lane, c)
	if c.Adds {
		why = "it is stable, and a rollout must bring it to this target, which has different content or none: " + why
	}
	return why
}

// position describes the place of a target in the rollout of a change.
func position(open []*Rollout, id ID, lane string, c Change) string {
	for _, r := range open {
		if r.Plan.Lane != lane || !r.has(c) {
			continue
		}
		m := r.Members[id]
		switch {
		case m == nil || m.State == MemberLeft:
			why := fmt.Sprintf("it waits for the end of the rollout %s, which began before the target needed the change", r.ID)
			if waits := r.Waits(); waits != "" {
				why += " and " + waits
			}
			return why
		case r.Phase != Active:
			return r.stoppedText()
		case m.Wave > r.Wave && r.Waits() != "":
			return fmt.Sprintf("it is in the wave %s of the rollout %s, and the current wave %s %s", r.Plan.Waves[m.Wave].Name,
				r.ID, r.Plan.Waves[r.Wave].Name, r.Waits())
		case m.Wave > r.Wave:
			return r.laterText(m.Wave)
		}
		return fmt.Sprintf("the rollout %s has reached its wave %s: it is next when another target is ready", r.ID,
			r.Plan.Waves[m.Wave].Name)
	}
	for _, r := range open {
		if r.has(c) && r.takesPart(id) {
			return fmt.Sprintf("it waits for the end of the rollout %s, to which it belongs since it had another branch", r.ID)
		}
	}
	return "it waits for a rollout"
}

// Returns returns the parts that a target must have again, because a rollout is being rolled back. The
// target can have them already, and the desired content can be different.
func (s *State) Returns(id ID) []Change {
	for _, r := range s.Open() {
		if r.Phase != RollingBack {
			continue
		}
		if m := r.Members[id]; m != nil && m.touched() {
			return m.Before
		}
	}
	return nil
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
