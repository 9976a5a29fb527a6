package limits

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
)

// TargetLimiter limits how often each target does something: Burst times at once, and then at the
// rate Every. A mutex protects the records of targets. It is safe for concurrent use.
type TargetLimiter struct {
	Every rate.Limit
	Burst int

	mu  sync.Mutex
	all map[fleet.TargetID]*pace
}

type pace struct {
	*rate.Limiter
	told time.Time
}

// tellEvery is the shortest time between two events about the same target.
const tellEvery = time.Hour

// Take counts one operation. ok is false if the limit is exceeded. tell is true if an event must
// report this.
func (p *TargetLimiter) Take(id fleet.TargetID, now time.Time) (ok, tell bool) {
	return p.TakeMany(id, now, 1)
}

// TakeMany is Take for an operation with the cost n.
func (p *TargetLimiter) TakeMany(id fleet.TargetID, now time.Time, n int) (ok, tell bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[fleet.TargetID]*pace{}
	}
	one := p.all[id]
	if one == nil {
		one = &pace{Limiter: rate.NewLimiter(p.Every, p.Burst)}
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

// Forget removes the record of a target that left the fleet.
func (p *TargetLimiter) Forget(id fleet.TargetID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, id)
}
