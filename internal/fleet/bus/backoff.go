package bus

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is the wait of a link between attempts to connect: a random part of a bound that doubles
// with each attempt, up to Most. A link never gives up. The zero value is ready to use.
type Backoff struct {
	First time.Duration // the first bound; 0 means one second
	Most  time.Duration // the largest bound; 0 means 30 seconds
}

func (b Backoff) limits() (first, most time.Duration) {
	first, most = b.First, b.Most
	if first <= 0 {
		first = time.Second
	}
	if most <= 0 {
		most = 30 * time.Second
	}
	return first, max(first, most)
}

// bound returns the longest wait after an attempt; the first attempt is 0.
func (b Backoff) bound(attempt int) time.Duration {
	first, most := b.limits()
	for range min(attempt, 62) {
		if first >= most/2 {
			return most
		}
		first *= 2
	}
	return first
}

// sleep waits for a random part of the bound, or until ctx ends. The whole wait is random, so that
// agents which lost their hub at the same moment do not reconnect at the same moment.
func (b Backoff) sleep(ctx context.Context, attempt int) {
	t := time.NewTimer(rand.N(b.bound(attempt)) + 1)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// longEnough returns a function to call when a connection ends. It returns true if the connection
// lasted longer than the largest bound.
func (b Backoff) longEnough() func() bool {
	_, most := b.limits()
	begin := time.Now()
	return func() bool { return time.Since(begin) > most }
}
