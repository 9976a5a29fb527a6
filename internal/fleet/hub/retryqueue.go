package hub

import (
	"context"
	"sync"
	"time"
)

const (
	// retryConcurrency limits concurrent tasks. A task writes to the store, which syncs these
	// writes one after the other: too many at once exceed their time limit. Some tasks first ask an
	// agent that may be slow: too few at once would all wait for such agents.
	retryConcurrency = 512
	// retryAttempts limits the attempts of a task. Before attempt n it waits (n-1)*retryPause.
	retryAttempts = 20
	retryPause    = time.Second
)

// retryQueue runs one task per target with bounded concurrency, and retries failures. It is for
// operations that many targets need at the same time, such as after the loss of a store, and that
// no caller repeats. The zero value is ready.
type retryQueue struct {
	mu      sync.Mutex
	waiting []retryTask
	known   map[string]bool // waiting, running, or between two attempts
	workers int
}

// retryTask is one task. While a task with the same key is known, add ignores it.
type retryTask struct {
	key string
	do  func(context.Context) error // limited to askFor
	// again reports whether a failed task is worth another attempt; nil always is.
	again func(error) bool
	tried int
}

// add runs a task in the background, unless ctx ends before.
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

// wait appends a task and starts a worker if needed. The caller holds the lock.
func (e *retryQueue) wait(ctx context.Context, one retryTask) {
	e.waiting = append(e.waiting, one)
	if e.workers < retryConcurrency {
		e.workers++
		go e.work(ctx)
	}
}

// work runs tasks until none is waiting.
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

// after schedules the next attempt of a failed task. The pause blocks no worker.
func (e *retryQueue) after(ctx context.Context, one retryTask, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil || ctx.Err() != nil || one.tried >= retryAttempts {
		delete(e.known, one.key)
		return
	}
	time.AfterFunc(time.Duration(one.tried)*retryPause, func() {
		worth := ctx.Err() == nil && (one.again == nil || one.again(err))
		e.mu.Lock()
		defer e.mu.Unlock()
		if worth {
			e.wait(ctx, one)
		} else {
			delete(e.known, one.key)
		}
	})
}
