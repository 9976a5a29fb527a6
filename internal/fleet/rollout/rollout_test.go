package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// phase returns the phase of a rollout.
func (f *fleet) phase(id string) rollout.Phase {
	if r := f.s.Rollouts[id]; r != nil {
		return r.Phase
	}
	return ""
}

// begun returns a fleet in which all hosts have the first content.
func begun(t testing.TB, n int) *fleet {
	f := newFleet(t, n, rollout.Careful())
	f.until(t, "the first content", func() bool { return f.have("w1") == n && f.phase("r1").Final() })
	return f
}

func TestGoodCommit(t *testing.T) {
	f := begun(t, 40)
	f.head["web"] = "w2"
	f.step(1)
	if n := f.have("w2"); n != 1 {
		t.Errorf("%d hosts have the new content in the first second", n)
	}
	if got := f.s.Rollouts["r2"].Plan.Changes; len(got) != 1 || got[0].Digest != "w2" {
		t.Errorf("40 hosts with the same change: %v", got)
	}
	f.until(t, "the second content", func() bool { return f.have("w2") == 40 && f.phase("r2") == rollout.Completed })
	if f.have("w1") != 0 {
		t.Error(f.text())
	}
}

func TestBadCommit(t *testing.T) {
	f := begun(t, 40)
	f.head["web"], f.bad["w2"] = "w2", true
	f.until(t, "the end", func() bool {
		if n := f.have("w2"); n > 1 {
			t.Fatalf("%d hosts have the bad content", n)
		}
		return f.phase("r2") == rollout.RolledBack
	})
	for range 1000 {
		f.step(10)
	}
	if f.have("w2") != 0 || f.have("w1") != 40 || f.phase("r3") != "" {
		t.Error(f.text())
	}
	f.head["web"] = "w3"
	f.until(t, "the repaired content", func() bool { return f.have("w3") == 40 })
}
