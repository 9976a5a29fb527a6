package hub

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
)

// targetLimiter bound how often each target does something: burst times at once, and then as every
// says. What is refused is told once in tellEvery.
type targetLimiter struct {
	every rate.Limit
	burst int

	mu  sync.Mutex
	all map[fleet.TargetID]*pace
}

type pace struct {
	*rate.Limiter
	told time.Time
}

// tellEvery is how often it is told that a target does something too often.
const tellEvery = time.Hour

// take counts once more; ok is false for one too many, and tell is true when that is to be
// told.
func (p *targetLimiter) take(id fleet.TargetID, now time.Time) (ok, tell bool) {
	return p.takeMany(id, now, 1)
}

// takeMany is take of something that counts as so many.
func (p *targetLimiter) takeMany(id fleet.TargetID, now time.Time, n int) (ok, tell bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[fleet.TargetID]*pace{}
	}
	one := p.all[id]
	if one == nil {
		one = &pace{Limiter: rate.NewLimiter(p.every, p.burst)}
		p.all[id] = one
	}
	if one.AllowN(now, n) {
		return true, false
	}
	tell = one.told.IsZero() || now.Sub(one.told) >= tellEvery
	if tell {
		one.told = now
	}
	return false, tell
}

func (p *targetLimiter) forget(id fleet.TargetID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, id)
}
