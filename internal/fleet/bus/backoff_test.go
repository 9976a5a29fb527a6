package bus

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		b       Backoff
		attempt int
		want    time.Duration
	}{
		{Backoff{}, 0, time.Second}, {Backoff{}, 1, 2 * time.Second}, {Backoff{}, 4, 16 * time.Second},
		{Backoff{}, 5, 30 * time.Second}, {Backoff{}, 1 << 40, 30 * time.Second},
		{Backoff{First: time.Minute}, 3, time.Minute}, {Backoff{First: 1, Most: 1 << 62}, 70, 1 << 62},
	} {
		if got := c.b.bound(c.attempt); got != c.want {
			t.Errorf("%+v after %d: %s, want %s", c.b, c.attempt, got, c.want)
		}
	}
}
