package rollout

import (
	"cmp"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/duration"
)

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

// Repeats reports whether a verdict need not be stored, because it changes nothing.
func (d Due) Repeats(v Verdict, why string) bool {
	return v == None && d.State.Last == v && d.State.Why == why || v == Pass && d.Passed
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

// Deadline returns the time at which the rollout pauses if a gate of the current wave has not passed by then. The unit
// is seconds since 1970. It returns 0 if the gate does not wait. up is World.Up. The time begins with the bake time. It
// begins again if the gate no longer passes, if an operator resumes the rollout, and if another hub leads.
func (r *Rollout) Deadline(g Gate, up int64) int64 {
	s := r.GateState(r.Wave, g.Name)
	timeout := r.Timeout(r.Wave, g)
	if r.Phase != Active || r.Settled == 0 || timeout == 0 || g.DryRun || r.Void(r.Wave, g) || g.Passed(s, r.Need(g)) {
		return 0
	}
	return max(r.Settled, r.resumed, s.Lapsed, up) + timeout
}

// Timeout returns the time limit of a gate of a wave, in seconds. Without its own limit, a gate has the timeout of the
// wave after the first moment at which the wave can end. 0 means no limit.
func (r *Rollout) Timeout(wave int, g Gate) int64 {
	limit := r.Plan.Strategy.WaveTimeout
	if g.Timeout > 0 || limit == 0 {
		return g.Timeout
	}
	return limit + max(r.Plan.Waves[wave].Bake, g.InitialDelay+int64(max(0, g.Count-1))*g.Interval)
}

// late pauses a rollout if a gate has not passed in time. It never ends the wave, and never returns targets.
func (t *turn) late(r *Rollout, g Gate) {
	end := r.Deadline(g, t.w.Up)
	if end == 0 || t.now < end {
		return
	}
	limit := duration.Text(time.Duration(r.Timeout(r.Wave, g)) * time.Second)
	t.add(r, Event{Kind: Paused, Wave: r.Wave, Gate: g.Name, Period: r.Period,
		Why: fmt.Sprintf("the gate %s of the wave %s has not passed within %s: it %s", g.Name,
			r.Plan.Waves[r.Wave].Name, limit, r.waitsFor(g))})
}

// untilText describes when the rollout pauses because of its gates, or returns "".
func (r *Rollout) untilText(up int64) string {
	var first int64
	for _, g := range r.Gates(r.Wave) {
		if end := r.Deadline(g, up); end > 0 {
			first = min(cmp.Or(first, end), end)
		}
	}
	if first == 0 {
		return ""
	}
	return "; otherwise the rollout pauses at " + time.Unix(first, 0).UTC().Format("2006-01-02 15:04:05 UTC")
}
