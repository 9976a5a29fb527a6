package bus

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is how long a link waits between attempts: a random part of a bound that
// doubles with each. It never gives up. The zero value is good.
type Backoff struct {
	First time.Duration // the first bound; 0 is one second
	Most  time.Duration // the last bound; 0 is 30 seconds
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

// bound is the longest wait after an attempt, the first being 0.
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

// sleep waits, or until ctx ends. All of the bound is random, so that those who lost
// their hub at once do not come back at once.
func (b Backoff) sleep(ctx context.Context, attempt int) {
	t := time.NewTimer(rand.N(b.bound(attempt)) + 1)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// longEnough tells, asked at the end of a connection, whether it lasted.
func (b Backoff) longEnough() func() bool {
	_, most := b.limits()
	begin := time.Now()
	return func() bool { return time.Since(begin) > most }
}
