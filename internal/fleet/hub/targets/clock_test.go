package targets

import (
	"testing"
	"time"
)

// TestSkewText: the text contains the difference in whole seconds, and its direction.
func TestSkewText(t *testing.T) {
	for ahead, want := range map[time.Duration]string{
		10*time.Minute + time.Millisecond: "its clock is 10m0s ahead of the hub's: " +
			"times in its reports are wrong, and scheduled work runs too early",
		-time.Hour: "its clock is 1h0m0s behind the hub's: " +
			"times in its reports are wrong, and scheduled work runs too late",
	} {
		if got := skewText(ahead); got != want {
			t.Errorf("%s: %q, want %q", ahead, got, want)
		}
	}
}
