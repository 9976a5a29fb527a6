package push

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// ErrInterrupted means that the user interrupted the rollout. It can be continued.
var ErrInterrupted = errors.New("interrupted")

// Driver performs a rollout. All fields except Interrupts and Observe must be set.
type Driver struct {
	Machine *Machine
	// Store makes records durable.
	Store func([]Record) error
	// Do performs one task. Several tasks of different targets are performed at the same time. When ctx ends, it must
	// return soon.
	Do   func(ctx context.Context, t Task) Result
	Now  func() time.Time
	Tick <-chan time.Time // several times in a minute, at least
	// Interrupts contains the interrupts of the user: after the first one, no further task begins. The second one
	// ends the context of the tasks.
	Interrupts <-chan struct{}
	// Observe gets each event after it was stored.
	Observe func(rollout.Event)
}

// ended is a task with its result.
type ended struct {
	Task
	Result
}

// Run performs the rollout until it has ended, is paused, or is interrupted: then the error is ErrInterrupted. An error
// of Store also ends it, after the tasks in progress. The caller reads the result from Machine.Rollout.
func (d Driver) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make(chan ended)
	done := ctx.Done()
	var failed error
	for {
		if failed == nil {
			failed = d.next(ctx, results)
		}
		if failed != nil {
			d.Machine.Stop()
		}
		if d.Machine.Finished() {
			return failed
		}
		select {
		case e := <-results:
			d.Machine.Ended(e.Task, e.Result, d.Now().Unix())
		case <-d.Tick:
		case <-d.Interrupts:
			if errors.Is(failed, ErrInterrupted) {
				cancel(ErrInterrupted)
			}
			failed = errors.Join(failed, ErrInterrupted)
		case <-done:
			failed, done = errors.Join(failed, context.Cause(ctx)), nil
		}
	}
}

// next starts the tasks that begin now, after their records were stored.
func (d Driver) next(ctx context.Context, results chan<- ended) error {
	tasks, records := d.Machine.Next(d.Now().Unix())
	if len(records) > 0 {
		if err := d.Store(records); err != nil {
			for _, t := range tasks {
				d.Machine.Ended(t, Result{Why: "it did not begin"}, d.Now().Unix())
			}
			return err
		}
	}
	for _, r := range records {
		if r.Event != nil && d.Observe != nil {
			d.Observe(*r.Event)
		}
	}
	for _, t := range tasks {
		go func() { results <- ended{t, d.Do(ctx, t)} }()
	}
	return nil
}
