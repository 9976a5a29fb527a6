// Package limits bounds the work that the many targets of a fleet cause at a hub.
//
//	var q limits.RetryQueue
//	q.Add(ctx, limits.RetryTask{Key: "mark/" + id, Do: mark})
//	pace := limits.TargetLimiter{Every: rate.Every(time.Minute), Burst: 12}
//	ok, tell := pace.Take(id, now)
package limits

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

// RetryQueue runs one task per target with bounded concurrency, and retries failures. It is for
// operations that many targets need at the same time, such as after the loss of a store, and that
// no caller repeats. The zero value is ready. It is safe for concurrent use: a mutex protects all
// fields, and no task runs under it.
type RetryQueue struct {
	mu      sync.Mutex
	waiting []RetryTask
	known   map[string]bool // waiting, running, or between two attempts
	workers int
}

// RetryTask is one task. While a task with the same key is known, Add ignores it.
type RetryTask struct {
	Key string
	Do  func(context.Context) error // limited to AgentTimeout
	// Again reports whether a failed task is worth another attempt; nil always is.
	Again func(error) bool
	tried int
}

// Add runs a task in the background, unless ctx ends before.
func (e *RetryQueue) Add(ctx context.Context, one RetryTask) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known[one.Key] {
		return
	}
	if e.known == nil {
		e.known = map[string]bool{}
	}
	e.known[one.Key] = true
	e.wait(ctx, one)
}

// wait appends a task and starts a worker if needed. The caller holds the lock.
func (e *RetryQueue) wait(ctx context.Context, one RetryTask) {
	e.waiting = append(e.waiting, one)
	if e.workers < retryConcurrency {
		e.workers++
		go e.work(ctx)
	}
}

// work runs tasks until none is waiting.
func (e *RetryQueue) work(ctx context.Context) {
	for {
		one, ok := e.next(ctx)
		if !ok {
			return
		}
		limited, stop := context.WithTimeout(ctx, AgentTimeout)
		err := one.Do(limited)
		stop()
		one.tried++
		e.after(ctx, one, err)
	}
}

func (e *RetryQueue) next(ctx context.Context) (one RetryTask, ok bool) {
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
func (e *RetryQueue) after(ctx context.Context, one RetryTask, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil || ctx.Err() != nil || one.tried >= retryAttempts {
		delete(e.known, one.Key)
		return
	}
	time.AfterFunc(time.Duration(one.tried)*retryPause, func() {
		worth := ctx.Err() == nil && (one.Again == nil || one.Again(err))
		e.mu.Lock()
		defer e.mu.Unlock()
		if worth {
			e.wait(ctx, one)
		} else {
			delete(e.known, one.Key)
		}
	})
}

// AgentTimeout limits the time in which an agent must answer.
const AgentTimeout = 30 * time.Second
