package rollout

import "fmt"

// judgeGates acts on the verdicts of the gates of the current wave.
func (t *turn) judgeGates(r *Rollout) {
	for _, g := range r.Gates(r.Wave) {
		t.expire(r, g)
		s := r.GateState(r.Wave, g.Name)
		switch {
		case r.Phase != Active || g.DryRun:
		case g.Failed(s):
			t.add(r, Event{Kind: Breached, Reaction: r.Plan.Strategy.OnBreach, Why: g.failure(r, s)})
		case r.Void(r.Wave, g):
		case g.unclear(s):
			t.add(r, Event{Kind: Paused, Wave: r.Wave,
				Why: fmt.Sprintf("the gate %s of the wave %s has no result: %s", g.Name, r.Plan.Waves[r.Wave].Name, s.Why)})
		default:
			t.late(r, g)
		}
	}
}

// failure describes why a gate failed.
func (g Gate) failure(r *Rollout, s GateState) string {
	text := fmt.Sprintf("the gate %s of the wave %s failed", g.Name, r.Plan.Waves[r.Wave].Name)
	if s.Rejected != "" {
		text = fmt.Sprintf("%s rejected the gate %s of the wave %s", s.Rejected, g.Name, r.Plan.Waves[r.Wave].Name)
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

// expire removes approvals that are too old.
func (t *turn) expire(r *Rollout, g Gate) {
	if r.Phase != Active {
		return
	}
	for _, a := range r.GateState(r.Wave, g.Name).Approvals {
		if g.Expires > 0 && t.now-a.At >= g.Expires {
			t.add(r, Event{Kind: Expired, Wave: r.Wave, Gate: g.Name, Period: r.Period, By: a.By})
		}
	}
}

// Due is a verdict that a gate must return now.
type Due struct {
	Rollout string // its ID
	Plan    Plan
	Gate    Gate
	Wave    int
	Period  int  // of the bake time for which it counts
	Passed  bool // a further pass changes nothing
	State   GateState
	// With and Without are the targets of a comparison.
	With, Without []ID
}

// Due returns the verdicts that the hub must obtain now.
func (s *State) Due(now int64) (out []Due) {
	for _, r := range s.Open() {
		for _, g := range r.Gates(r.Wave) {
			s := r.GateState(r.Wave, g.Name)
			if r.Phase != Active || r.Settled == 0 || !g.due(s, r.Settled, now) || r.Void(r.Wave, g) {
				continue
			}
			d := Due{Rollout: r.ID, Plan: r.Plan, Gate: g, Wave: r.Wave, Period: r.Period, Passed: g.Passed(s, 0), State: s}
			if g.Type == CompareGate {
				d.With, d.Without = r.Sides()
			}
			out = append(out, d)
		}
	}
	return out
}

// due reports whether a gate must be asked now. A webhook is not asked again after its verdict.
func (g Gate) due(s GateState, settled, now int64) bool {
	if g.URL == "" || g.Type == ApprovalGate || g.Type == WebhookGate && (s.Last == Later || s.Last == Pass) {
		return false
	}
	return now-settled >= g.InitialDelay && (s.At == 0 || now-s.At >= g.Interval)
}
