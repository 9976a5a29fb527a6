package rollout_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// Each target without the change has the reason that fits its place in the rollout.
func TestReasons(t *testing.T) {
	f := begun(t, 20)
	f.head["web"] = "w2"
	f.step(1)
	r := f.s.Rollouts["r2"]
	c := rollout.Change{Part: "web", Digest: "w2"}
	why := func(id rollout.ID) string { _, why := f.s.Allowed(id, "main", c); return why }
	first, last := r.Plan.Waves[0].Members[0], r.Plan.Waves[2].Members[0]
	f.add("late")
	for id, want := range map[rollout.ID]string{
		first:  "the rollout r2 granted it",
		last:   "it is in the wave rest of the rollout r2, and the current wave is first",
		"late": "it waits for the end of the rollout r2",
	} {
		if got := why(id); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", id, got)
		}
	}
	f.command(t, rollout.ToPause, "")
	if got := why(last); got != "the rollout r2 is paused: a test" {
		t.Error(got)
	}
	f.command(t, rollout.ToResume, "")
	f.command(t, rollout.ToAbort, "")
	if got := why(last); got != "held since the rollout r2 ended" {
		t.Error(got)
	}
}
