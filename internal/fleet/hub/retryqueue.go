package hub

import (
	"context"
	"sync"
	"time"
)

const (
	// retryConcurrency is how many are under way at a time. Each is a write or two, which the store
	// makes durable one after the other, and with very many at once all would take too long; some
	// ask an agent first, which may have much to do, and with few at once all would wait for that.
	retryConcurrency = 512
	// retryAttempts is how often one is tried. Before the nth time it waits n-1 times retryPause.
	retryAttempts = 20
	retryPause    = time.Second
)

// retryQueue are what a hub has to do once for each of very many targets that come at the same
// time, as they do when its store was lost. Nobody asks for it again: what failed is tried
// again. The zero value is ready.
type retryQueue struct {
	mu      sync.Mutex
	waiting []retryTask
	known   map[string]bool // waiting or under way
	workers int
}

// retryTask is one. Of those with the same key one is enough.
type retryTask struct {
	key string
	do  func(context.Context) error // within askFor
	// again tells whether one that failed is worth another attempt.
	again func(error) bool
	tried int
}

// add has one done in the background, until ctx ends.
func (e *retryQueue) add(ctx context.Context, one retryTask) {
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
func (e *retryQueue) wait(ctx context.Context, one retryTask) {
	e.waiting = append(e.waiting, one)
	if e.workers < retryConcurrency {
		e.workers++
		go e.work(ctx)
	}
}

// work does what waits, and ends when nothing does.
func (e *retryQueue) work(ctx context.Context) {
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

func (e *retryQueue) next(ctx context.Context) (one retryTask, ok bool) {
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
func (e *retryQueue) after(ctx context.Context, one retryTask, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil || ctx.Err() != nil || one.tried >= retryAttempts {
		delete(e.known, one.key)
		return
	}
	time.AfterFunc(time.Duration(one.tried)*retryPause, func() {
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
