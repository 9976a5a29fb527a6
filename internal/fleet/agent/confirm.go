package agent

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// contactPause is the time between two attempts to reach a hub after a run that could have broken
// the network.
const contactPause = 2 * time.Second

// confirm confirms an armed run if a hub can be reached before its deadline, and otherwise undoes
// it. If this process ends before, the guard of the run undoes it.
func (r *Runner) confirm(ctx context.Context, x executor.Executor, rep *executor.Report,
	o executor.Options) (*executor.Report, error) {
	deadline := time.Unix(0, rep.ConfirmBy)
	for r.Contact != nil && r.Now().Before(deadline) {
		try, cancel := context.WithTimeout(ctx, min(10*time.Second, max(deadline.Sub(r.Now()), time.Millisecond)))
		err := r.Contact(try)
		cancel()
		if err == nil {
			if _, err := x.Confirm(ctx, o); err != nil {
				return rep, err
			}
			rep.ConfirmBy = 0
			return rep, nil
		}
		if err := pause(ctx, contactPause); err != nil {
			return rep, err
		}
	}
	if err := pause(ctx, deadline.Sub(r.Now())); err != nil {
		return rep, err
	}
	back, err := x.Recover(ctx, o, nil)
	if err != nil {
		return rep, fmt.Errorf("cannot undo run %d, after which the agent could not reach a hub: %w", rep.Run, err)
	}
	if back != nil {
		back.Duration += rep.Duration
		rep = back
	}
	rep.Outcome = journal.RolledBack
	return rep, fmt.Errorf("%w: after the run the agent could not reach a hub", executor.ErrUndone)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
