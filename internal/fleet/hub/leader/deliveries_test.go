package leader

import (
	"testing"
	"time"
)

// TestWait: a leader of a large fleet decides less often, but never later than without reports.
func TestWait(t *testing.T) {
	for cost, want := range map[time.Duration]time.Duration{
		0: gatherTime, 6 * time.Millisecond: gatherTime, 25 * time.Millisecond: time.Second, time.Minute: rolloutInterval,
	} {
		if got := (&deliveries{cost: cost}).wait(); got != want {
			t.Errorf("after a decision of %s it waits %s instead of %s", cost, got, want)
		}
	}
}
