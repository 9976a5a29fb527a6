package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestClockJump: the clock of the hub jumps by an hour while the first target applies the change, and during the bake
// time. No target fails or is silent because of this, the times begin again, and the next wave does not begin early or
// an hour late.
func TestClockJump(t *testing.T) {
	for _, by := range []int64{3600, -3600} {
		s := rollout.Careful()
		s.Waves[0].Bake = 600
		f := newFleet(t, 20, s)
		f.tell = func(string, ...any) {} // its judge knows no jumps
		f.now = 10_000
		f.step(1)
		f.jump(by)
		if f.rest(9); f.have("w1") != 1 || f.s.Rollouts["r1"].Settled > 0 {
			t.Errorf("after a jump by %d: %s", by, f.text())
		}
		if f.rest(10); f.s.Rollouts["r1"].Settled == 0 {
			t.Errorf("after a jump by %d, the first target is not ready: %s", by, f.text())
		}
		f.rest(300)
		f.hosts["h00"].online, f.hosts["h00"].contact = false, f.now
		f.jump(by)
		if f.rest(590); f.have("w1") != 1 {
			t.Errorf("a jump by %d shortens the bake time: %s", by, f.text())
		}
		if f.rest(20); f.have("w1") < 2 || f.phase("r1") != rollout.Active {
			t.Errorf("a jump by %d delays the next wave: %s", by, f.text())
		}
	}
}

// jump changes the clock of the hub, which observes the targets again afterwards.
func (f *fleet) jump(by int64) {
	f.now += by
	f.up, f.jumped = f.now, f.now
	for _, h := range f.hosts {
		h.since = f.now
		if h.begun > 0 {
			h.begun, h.ends = h.begun+by, h.ends+by
		}
	}
}
