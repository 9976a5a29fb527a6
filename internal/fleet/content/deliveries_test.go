package content

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestRequestedHistories: histories that are being read stay, and so do the newest ones within the limits. A failure
// stays for some time.
func TestRequestedHistories(t *testing.T) {
	done, failed := time.Unix(1000, 0), errors.New("no connection")
	many := func(n int, d delivery) []delivery { return slices.Repeat([]delivery{d}, n) }
	for name, c := range map[string]struct {
		all  []delivery
		want int
	}{
		"one":                  {[]delivery{{at: done}}, 1},
		"below the number":     {many(maxDeliveries-1, delivery{at: done}), maxDeliveries - 1},
		"one more than it":     {many(maxDeliveries, delivery{at: done}), maxDeliveries - 1},
		"in progress":          {many(maxDeliveries+1, delivery{}), maxDeliveries + 1},
		"of the largest size":  {many(2, delivery{at: done, text: make([]byte, MaxHistory)}), 2},
		"above the size":       {many(3, delivery{at: done, text: make([]byte, MaxHistory)}), 2},
		"with an old failure":  {[]delivery{{at: done.Add(-time.Second), err: failed}, {at: done.Add(-time.Second)}}, 1},
		"with a fresh failure": {[]delivery{{at: done, err: failed}, {at: done}}, 2},
	} {
		h := Histories{Now: func() time.Time { return done.Add(historyFailedFor) }}
		for _, d := range c.all {
			d.key = "requested"
			h.all = append(h.all, &d)
		}
		if h.tidy(); len(h.all) != c.want {
			t.Errorf("%s: %d histories are left, want %d", name, len(h.all), c.want)
		}
	}
}
