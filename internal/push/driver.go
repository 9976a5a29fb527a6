package push

import (
	"context"
	"errors"
	"sync"
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
	Do func(ctx context.Context, t Task) Result
	// Ask asks a gate, or the operator for an approval gate: Pass approves, and Fail rejects. It may be nil if the
	// strategy has no gates. When ctx ends, it must return soon.
	Ask  func(ctx context.Context, d rollout.Due) (rollout.Verdict, string)
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

// judged is a question with its answer.
type judged struct {
	rollout.Due
	verdict rollout.Verdict
	why     string
}

// Run performs the rollout until it has ended, is paused, or is interrupted: then the error is ErrInterrupted. An error
// of Store also ends it, after the tasks in progress. The caller reads the result from Machine.Rollout.
func (d Driver) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results, verdicts := make(chan ended), make(chan judged)
	questions, unasked := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer unasked()
	done := ctx.Done()
	var failed error
	for {
		if failed == nil {
			failed = d.next(ctx, results)
		}
		if failed != nil {
			unasked()
			d.Machine.Stop()
		}
		if d.Machine.Finished() {
			return failed
		}
		d.ask(questions, &asking, verdicts)
		select {
		case e := <-results:
			d.Machine.Ended(e.Task, e.Result, d.Now().Unix())
		case v := <-verdicts:
			d.Machine.Answered(v.Due, v.verdict, v.why, d.Now().Unix())
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

// ask asks the gates that are due. An answer after the end of ctx is discarded.
func (d Driver) ask(ctx context.Context, asking *sync.WaitGroup, verdicts chan<- judged) {
	if d.Ask == nil {
		return
	}
	for _, q := range d.Machine.Questions(d.Now().Unix()) {
		asking.Go(func() {
			v, why := d.Ask(ctx, q)
			select {
			case verdicts <- judged{q, v, why}:
			case <-ctx.Done():
			}
		})
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
