package leader

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClockJumps: after a jump of its clock, a leader observes the targets again. Elapsed time and a slow drift are no
// jumps.
func TestClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deliveries
		var skew time.Duration
		warnings := 0
		read := func() {
			d.readClock(time.Now().Add(skew), func(string) { warnings++ })
		}
		read()
		for _, jump := range []time.Duration{0, maxDrift, -maxDrift} {
			time.Sleep(10 * time.Minute)
			skew += jump
			if read(); d.jump != 0 || warnings > 0 {
				t.Errorf("a drift of %s is a jump", jump)
			}
		}
		for i, jump := range []time.Duration{time.Hour, -time.Hour, -maxDrift - time.Second} {
			time.Sleep(time.Minute)
			skew += jump
			now := time.Now().Add(skew).Unix()
			if read(); d.jump != now || d.began != now || warnings != i+1 {
				t.Errorf("after a jump of %s: %d and %d instead of %d, %d warnings", jump, d.jump, d.began, now, warnings)
			}
			time.Sleep(time.Minute)
			if read(); d.jump != now {
				t.Errorf("a jump of %s is detected twice", jump)
			}
		}
	})
}
