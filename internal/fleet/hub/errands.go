package hub

import (
	"context"
	"sync"
	"time"
)

const (
	// errandsAtOnce is how many are under way at a time. Each is a write or two, which the store
	// makes durable one after the other, and with very many at once all would take too long; some
	// ask an agent first, which may have much to do, and with few at once all would wait for that.
	errandsAtOnce = 512
	// errandTries is how often one is tried. Before the nth time it waits n-1 times errandPause.
	errandTries = 20
	errandPause = time.Second
)

// errands are what a hub has to do once for each of very many targets that come at the same
// time, as they do when its store was lost. Nobody asks for it again: what failed is tried
// again. The zero value is ready.
type errands struct {
	mu      sync.Mutex
	waiting []errand
	known   map[string]bool // waiting or under way
	workers int
}

// errand is one. Of those with the same key one is enough.
type errand struct {
	key string
	do  func(context.Context) error // within askFor
	// again tells whether one that failed is worth another attempt.
	again func(error) bool
	tried int
}

// add has one done in the background, until ctx ends.
func (e *errands) add(ctx context.Context, one errand) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known[one.key] {
		return
	}
	if e.known == nil {
		e.known = map[string]bool{}
	}
	e.known[one.key] = true
	e.wait(ctx, one)
}

// wait needs the lock.
func (e *errands) wait(ctx context.Context, one errand) {
	e.waiting = append(e.waiting, one)
	if e.workers < errandsAtOnce {
		e.workers++
		go e.work(ctx)
	}
}

// work does what waits, and ends when nothing does.
func (e *errands) work(ctx context.Context) {
	for {
		one, ok := e.next(ctx)
		if !ok {
			return
		}
		limited, stop := context.WithTimeout(ctx, askFor)
		err := one.do(limited)
		stop()
		one.tried++
		e.after(ctx, one, err)
	}
}

func (e *errands) next(ctx context.Context) (one errand, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) == 0 || ctx.Err() != nil {
		e.workers--
		return one, false
	}
	one = e.waiting[0]
	e.waiting = e.waiting[1:]
	return one, true
}

// after has one that failed tried again later, which keeps no other one waiting.
func (e *errands) after(ctx context.Context, one errand, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil || ctx.Err() != nil || one.tried >= errandTries {
		delete(e.known, one.key)
		return
	}
	time.AfterFunc(time.Duration(one.tried)*errandPause, func() {
		worth := ctx.Err() == nil && one.again(err)
		e.mu.Lock()
		defer e.mu.Unlock()
		if worth {
			e.wait(ctx, one)
		} else {
			delete(e.known, one.key)
		}
	})
}
