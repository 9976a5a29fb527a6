package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// windows checks that no member of the waves so far waits for its window when a wave ends.
func (f *fleet) windows(log []rollout.Event, e rollout.Event) {
	plan, wave, _, state := last(log, e.Rollout)
	of := map[rollout.ID]int{}
	for i, w := range plan.Waves {
		for _, id := range w.Members {
			of[id] = i
		}
	}
	for _, j := range log {
		if j.Rollout == e.Rollout && j.Kind == rollout.Joined {
			of[j.Target] = j.Wave
		}
	}
	for id, w := range of {
		k := state[id]
		pending := k == "" || k == rollout.Joined || k == rollout.Retried
		if h := f.hosts[id]; h != nil && w <= wave && h.closed && h.online && (pending || k == rollout.Granted) {
			f.tell("the wave %d of %s ends, and %s waits for its window", wave, e.Rollout, id)
		}
	}
}

// closeRest closes the windows of the hosts without a content.
func (f *fleet) closeRest(digest string, closed bool) {
	for _, h := range f.hosts {
		if h.parts["web"] != digest {
			h.closed, h.hold = closed, map[bool]string{true: "outside the window"}[closed]
		}
	}
}

// A wave does not end because windows are closed for long. When they open, the rollout continues.
func TestWindowsKeepAWaveOpen(t *testing.T) {
	f := begun(t, 4)
	f.strategy.WaveTimeout = 600
	f.head["web"] = "w2"
	f.until(t, "the first target", func() bool { return f.have("w2") == 1 })
	f.closeRest("w2", true)
	f.rest(5000)
	if f.phase("r2") != rollout.Active || f.have("w2") != 1 {
		t.Fatal(f.text())
	}
	f.closeRest("w2", false)
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// Time in which the windows of a target are closed does not count for the timeout of a wave.
func TestTimeoutsWithWindows(t *testing.T) {
	for _, c := range []struct {
		open int64
		want rollout.Phase
	}{{0, rollout.Active}, {600, rollout.WithExceptions}} {
		f := begun(t, 4)
		f.strategy.WaveTimeout = 600
		f.openFor = func(rollout.ID, int64, int64, int64) int64 { return c.open }
		f.head["web"] = "w2"
		f.until(t, "the third target", func() bool { return f.have("w2") == 3 })
		for _, h := range f.hosts {
			if h.parts["web"] != "w2" {
				h.hold = "a freeze"
			}
		}
		f.rest(2000)
		if got := f.phase("r2"); got != c.want {
			t.Errorf("with an open time of %d s: %s, want %s\n%s", c.open, got, c.want, f.text())
		}
	}
}
