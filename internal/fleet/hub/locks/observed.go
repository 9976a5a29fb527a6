package locks

import (
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/coordination"
)

// observed remembers since when this hub has seen the newest lease of each holder. Clocks of hubs can jump, but a lease
// that does not change for its whole time has ended. The zero value has seen nothing.
type observed struct {
	mu    sync.Mutex
	locks map[string]map[string]sight // by lock and owner
}

// sight is a lease as the hub saw it first.
type sight struct {
	lease coordination.Holder
	since time.Duration
}

// see remembers the leases of a lock, and returns the time for which this hub has seen each of them. An outdated copy
// of the lock can only make the times shorter.
func (o *observed) see(s coordination.State, now time.Duration) map[string]time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.locks == nil {
		o.locks = map[string]map[string]sight{}
	}
	was, next := o.locks[s.Name], make(map[string]sight, len(s.Holders))
	out := make(map[string]time.Duration, len(s.Holders))
	for _, h := range s.Holders {
		h.Ended = false // the end of a lease does not renew it
		x, known := was[h.Owner]
		if !known || x.lease != h {
			x = sight{h, now}
		}
		next[h.Owner] = x
		out[h.Owner] = now - x.since
	}
	if o.locks[s.Name] = next; len(next) == 0 {
		delete(o.locks, s.Name)
	}
	return out
}
