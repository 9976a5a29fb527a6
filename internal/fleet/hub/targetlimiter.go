package hub

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
)

// targetLimiter limits how often each target does something: burst times at once, and then at the
// rate every. It is safe for concurrent use.
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

// tellEvery is the shortest time between two events about the same target.
const tellEvery = time.Hour

// take counts one operation. ok is false if the limit is exceeded. tell is true if an event must
// report this.
func (p *targetLimiter) take(id fleet.TargetID, now time.Time) (ok, tell bool) {
	return p.takeMany(id, now, 1)
}

// takeMany is take for an operation with the cost n.
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
