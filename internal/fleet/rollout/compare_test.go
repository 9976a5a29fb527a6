package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// compared reports whether a gate has targets to compare at a wave, from the log alone. Other gates need none.
func compared(log []rollout.Event, id string, wave int, g rollout.Gate) bool {
	if g.Type != rollout.CompareGate {
		return true
	}
	plan, _, _, state := last(log, id)
	in := map[rollout.ID]int{}
	for i, w := range plan.Waves {
		for _, member := range w.Members {
			in[member] = i
		}
	}
	for _, e := range log {
		if e.Rollout == id && e.Kind == rollout.Joined {
			in[e.Target] = e.Wave
		}
	}
	so, later := false, false
	for member, w := range in {
		if k := state[member]; k != rollout.Left && k != rollout.Skipped {
			so, later = so || w <= wave, later || w > wave
		}
	}
	return so && later
}

// sides checks the targets of comparisons: those with the change have it, and the others do not. Another rollout can
// give a target with the change other content meanwhile. A label that changed since the newest assignment of a target
// can select another part of the change, which the target gets with the next one.
func (f *fleet) sides() {
	for _, d := range f.s.Due(f.now) {
		if d.Gate.Type != rollout.CompareGate {
			continue
		}
		for i, side := range [][]rollout.ID{d.With, d.Without} {
			for _, id := range side {
				h := f.hosts[id]
				if i == 0 && h != nil && h.given != h.role {
					continue
				}
				lacks := h == nil || slices.ContainsFunc(f.wants(h), func(c rollout.Change) bool {
					return brings(&d.Plan, c)
				})
				if lacks != (i == 1) || i == 0 && h.begun == 0 && !f.changes(id, d.Rollout) {
					f.tell("%s compares %v with %v, and %s is wrong", d.Rollout, d.With, d.Without, id)
				}
			}
		}
	}
}

// changes reports whether an open rollout, except for one, has granted its change to a host that is not ready with it.
func (f *fleet) changes(id rollout.ID, except string) bool {
	return slices.ContainsFunc(f.s.Open(), func(r *rollout.Rollout) bool {
		m := r.Members[id]
		return r.ID != except && m != nil && m.State == rollout.MemberGranted
	})
}

func comparison() rollout.Gate {
	return rollout.Gate{Name: "errors", Type: rollout.CompareGate, URL: "http://metrics", Count: 1, Interval: 30,
		Label: "instance", MinSample: 1, MaxRatio: 1.5, Timeout: 300}
}

// TestCompare: the values with the change must be significantly worse than permitted to fail.
func TestCompare(t *testing.T) {
	few := []float64{1, 2}
	low := []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5}
	mid := []float64{1.6, 1.7, 1.8, 1.9, 2, 2.1}
	high := []float64{8, 9, 10, 11, 12, 13}
	gate := func(lower bool, ratio, margin float64) rollout.Gate {
		return rollout.Gate{MinSample: 5, Lower: lower, MaxRatio: ratio, Margin: margin}
	}
	minus := func(all []float64) (out []float64) {
		for _, v := range all {
			out = append(out, -v)
		}
		return out
	}
	for name, c := range map[string]struct {
		g             rollout.Gate
		with, without []float64
		want          rollout.Verdict
	}{
		"same":                {gate(false, 1, 0), low, low, rollout.Pass},
		"worse":               {gate(false, 1, 0), mid, low, rollout.Fail},
		"better":              {gate(false, 1, 0), low, mid, rollout.Pass},
		"within the ratio":    {gate(false, 1.6, 0), mid, low, rollout.Pass},
		"beyond the ratio":    {gate(false, 1.6, 0), high, low, rollout.Fail},
		"within the margin":   {gate(false, 0, 1), mid, low, rollout.Pass},
		"beyond the margin":   {gate(false, 0, 1), high, low, rollout.Fail},
		"lower is worse":      {gate(true, 1.6, 0), low, high, rollout.Fail},
		"lower, within":       {gate(true, 1.6, 0), low, mid, rollout.Pass},
		"lower, better":       {gate(true, 1.6, 0), high, low, rollout.Pass},
		"lower, margin":       {gate(true, 0, 1), low, mid, rollout.Pass},
		"negative, within":    {gate(false, 1.6, 0), minus(low), minus(mid), rollout.Pass},
		"negative, worse":     {gate(false, 1.6, 0), minus(low), minus(high), rollout.Fail},
		"negative and lower":  {gate(true, 1.6, 0), minus(high), minus(low), rollout.Fail},
		"just enough":         {gate(false, 1, 0), low[:5], low[:5], rollout.Pass},
		"few with it":         {gate(false, 1, 0), few, low, rollout.None},
		"one less with it":    {gate(false, 1, 0), high[:4], low, rollout.None},
		"one less without it": {gate(false, 1, 0), high, low[:4], rollout.None},
		"few without it":      {gate(false, 1, 0), high, few, rollout.None},
		"no power":            {rollout.Gate{MinSample: 1}, []float64{9}, low, rollout.None},
		"none":                {rollout.Gate{}, nil, nil, rollout.None},
		"one of many":         {rollout.Gate{MinSample: 1}, []float64{99}, make([]float64, 99), rollout.Fail},
		"an outlier is noise": {gate(false, 1, 0), append(slices.Clone(low), 1e9), low, rollout.Pass},
	} {
		if v, why := c.g.Compare(c.with, c.without); v != c.want || why == "" {
			t.Errorf("%s: %s %s, want %s", name, v, why, c.want)
		}
	}
}

// TestComparison: the gate gets the targets of both sides, waits while values are too few, and then pauses.
func TestComparison(t *testing.T) {
	f := gated(t, comparison())
	d := f.s.Due(f.now)
	if len(d) != 1 || len(d[0].With) != 1 || len(d[0].Without) != 19 {
		t.Fatalf("%+v", d)
	}
	f.measure(t, rollout.None)
	f.rest(100)
	if r := f.s.Rollouts["r2"]; !strings.HasPrefix(r.Waits(), "waits for 1 of 1 good comparisons of errors: ") {
		t.Error(r.Waits())
	}
	f.gate(t, false, rollout.Command{Action: rollout.ToJudge, Gate: "errors", Verdict: rollout.Pass, By: "ann"})
	f.until(t, "the pause", func() bool { return f.phase("r2") == rollout.OnHold })
	f.command(t, rollout.ToResume, "")
	f.measure(t, rollout.Pass)
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestComparisonFails: a bad comparison ends the rollout, and a comparison without a later target does not delay it.
func TestComparisonFails(t *testing.T) {
	f := gated(t, comparison())
	f.measure(t, rollout.Fail)
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
	f = begun(t, 20)
	f.strategy.Waves = slices.Clone(f.strategy.Waves)
	f.strategy.Waves[2].Gates = []rollout.Gate{comparison()}
	f.head["web"] = "w2"
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}
