package rollout

import "fmt"

// Allowed returns true if a target may have a change of its desired content. Call it after Decide. why is the reason,
// for users. Returns has priority.
func (s *State) Allowed(id ID, lane string, c Change) (allowed bool, why string) {
	return mayHave(s, id, lane, c, nil)
}

func mayHave(s *State, id ID, lane string, c Change, known waveTexts) (allowed bool, why string) {
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
	return false, s.waiting(id, lane, c, known)
}

// waiting returns the reason why a target does not have a change yet.
func (s *State) waiting(id ID, lane string, c Change, known waveTexts) string {
	why := position(s.Open(), id, lane, c, known)
	if c.Adds {
		why = "it is stable, and a rollout must bring it to this target, which has different content or none: " + why
	}
	return why
}

// position describes the place of a target in the rollout of a change.
func position(open []*Rollout, id ID, lane string, c Change, known waveTexts) string {
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
		}
		return known.of(r, m.Wave)
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

// waveTexts contains the results of waveText for one state: many members have the same. nil keeps none.
type waveTexts map[waveOf]string

// waveOf identifies a wave of a rollout.
type waveOf struct {
	rollout *Rollout
	wave    int
}

// of returns the text for a wave, and keeps it.
func (w waveTexts) of(r *Rollout, wave int) string {
	text, ok := w[waveOf{r, wave}]
	if !ok {
		text = r.waveText(wave)
		if w != nil {
			w[waveOf{r, wave}] = text
		}
	}
	return text
}

// waveText describes why the members of a wave do not have the change yet.
func (r *Rollout) waveText(wave int) string {
	switch waits := r.Waits(); {
	case wave > r.Wave && waits != "":
		return fmt.Sprintf("it is in the wave %s of the rollout %s, and the current wave %s %s", r.Plan.Waves[wave].Name,
			r.ID, r.Plan.Waves[r.Wave].Name, waits)
	case wave > r.Wave:
		return r.laterText(wave)
	}
	return fmt.Sprintf("the rollout %s has reached its wave %s: it is next when another target is ready", r.ID,
		r.Plan.Waves[wave].Name)
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
