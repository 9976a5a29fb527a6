package document

import (
	"testing"
	"time"
)

// TestTimesForUsers: run times have a unit that fits, and an unknown one has no text.
func TestTimesForUsers(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "", -5: "", 1: "0 ms", 250 * time.Millisecond: "250 ms",
		1500 * time.Millisecond: "1.5 s", 75 * time.Second: "1.25 min", 90 * time.Minute: "1.5 h"} {
		if got := (Event{Duration: int64(d)}).RunTimeText(); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	for unit, want := range map[string]string{"seconds": "2.5 min", "runs": "150", "cpus": "150.00"} {
		if got := (HistorySeries{Unit: unit}).ValueText(150); got != want {
			t.Errorf("%s: %q, want %q", unit, got, want)
		}
	}
}
