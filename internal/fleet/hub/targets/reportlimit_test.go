package targets

import (
	"testing"
	"time"
)

// Reports of honest agents are never refused: with very frequent commits, with a full outbox, and
// with a file that changes again and again.
func TestHonestReportsComeThrough(t *testing.T) {
	for name, c := range map[string]struct {
		size, n int
		every   time.Duration
	}{
		"a commit every minute for a day, with 30 reports each": {size: 900, n: 30 * 60 * 24, every: 2 * time.Second},
		"a full outbox at once":                                 {size: 8 << 10, n: 1000},
		"whole reports of 300 modules, at once":                 {size: 90 << 10, n: 300},
		"drift and its repair every four seconds":               {size: 900, n: 40_000, every: 2 * time.Second},
	} {
		p, now := reportPaces(), time.Unix(1_795_000_000, 0)
		for i := range c.n {
			if ok, _ := p.TakeMany("a", now, reportCost(c.size)); !ok {
				t.Errorf("%s: report %d is refused", name, i)
				break
			}
			now = now.Add(c.every)
		}
	}
	p, now, refused := reportPaces(), time.Unix(1_795_000_000, 0), 0
	for range 1_000_000 {
		if ok, tell := p.TakeMany("a", now, reportCost(1<<10)); !ok {
			refused++
			if tell != (refused == 1) {
				t.Fatalf("it is told at refusal %d", refused)
			}
		}
	}
	if ok, _ := p.TakeMany("b", now, 1); !ok || refused < 900_000 {
		t.Errorf("%d are refused", refused)
	}
}
