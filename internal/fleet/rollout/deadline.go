package rollout

import (
	"cmp"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/duration"
)

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
