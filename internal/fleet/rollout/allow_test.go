package rollout_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// Each target without the change has the reason that fits its place in the rollout.
func TestReasons(t *testing.T) {
	f := begun(t, 20)
	f.strategy.Waves[0].Size = rollout.Amount{Number: 2}
	f.head["web"] = "w2"
	f.step(1)
	r := f.s.Rollouts["r2"]
	c := rollout.Change{Part: "web", Digest: "w2"}
	why := func(id rollout.ID) string { _, why := f.s.Allowed(id, "main", c); return why }
	first, next, last := r.Plan.Waves[0].Members[0], r.Plan.Waves[0].Members[1], r.Plan.Waves[2].Members[0]
	f.add("late")
	for id, want := range map[rollout.ID]string{
		first:  "the rollout r2 granted it",
		next:   "the rollout r2 has reached its wave first: it is next when another target is ready",
		last:   "it is in the wave rest of the rollout r2, and the current wave is first",
		"late": "it waits for the end of the rollout r2",
	} {
		if got := why(id); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", id, got)
		}
	}
	f.command(t, rollout.ToPause, "")
	if got := why(last); got != "the rollout r2 is paused by jane: a test" {
		t.Error(got)
	}
	f.command(t, rollout.ToResume, "")
	f.command(t, rollout.ToAbort, "")
	if got := why(last); got != "held since the rollout r2 ended" {
		t.Error(got)
	}
}

// With several open rollouts, a target has the reason of the rollout that has its change.
func TestReasonsOfTwoRollouts(t *testing.T) {
	f := begun(t, 20)
	f.head["web"] = "w2"
	f.step(1)
	f.head["db"] = "d1"
	f.step(1)
	last := f.s.Rollouts["r3"].Plan.Waves[2].Members[0]
	for want, c := range map[string]struct {
		lane, part, digest string
	}{
		"it is in the wave rest of the rollout r3, and the current wave is first (0 of 1 ready)":  {"main", "db", "d1"},
		"it waits for the end of the rollout r2, to which it belongs since it had another branch": {"next", "web", "w2"},
	} {
		if _, got := f.s.Allowed(last, c.lane, rollout.Change{Part: c.part, Digest: c.digest}); got != want {
			t.Errorf("%s: %s", c.part, got)
		}
	}
}
