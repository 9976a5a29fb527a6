package records

import (
	"sync"
	"time"
)

// Observed remembers since when this hub has seen values unchanged. Clocks of hubs can jump, but a value that did not
// change for a time is at least so old. The zero value has seen nothing. It is safe for concurrent use.
type Observed[T comparable] struct {
	mu  sync.Mutex
	all map[string]map[string]sight[T] // by record and owner
}

// sight is a value as the hub saw it first.
type sight[T comparable] struct {
	value T
	since time.Duration
}

// See remembers the values of a record by their owners, and returns the time for which this hub has seen each of them.
// now is the time of a clock that does not jump. An outdated copy of the record can only make the times shorter.
func (o *Observed[T]) See(record string, values map[string]T, now time.Duration) map[string]time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[string]map[string]sight[T]{}
	}
	was, next := o.all[record], make(map[string]sight[T], len(values))
	out := make(map[string]time.Duration, len(values))
	for owner, value := range values {
		x, known := was[owner]
		if !known || x.value != value {
			x = sight[T]{value, now}
		}
		next[owner] = x
		out[owner] = now - x.since
	}
	if o.all[record] = next; len(next) == 0 {
		delete(o.all, record)
	}
	return out
}
