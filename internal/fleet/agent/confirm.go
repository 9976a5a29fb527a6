package agent

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// contactPause is between two attempts to reach a hub after a run that may have cut it
// off.
const contactPause = 2 * time.Second

// confirm keeps a run that waits for it, if a hub can be reached in time; else it takes
// it back. Should this process end meanwhile, whoever guards the run takes it back.
func (r *Runner) confirm(ctx context.Context, x executor.Executor, rep *executor.Report, o executor.Options) (*executor.Report, error) {
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
		return rep, fmt.Errorf("cannot undo run %d, after which no hub could be reached: %w", rep.Run, err)
	}
	if back != nil {
		rep = back
	}
	rep.Outcome = journal.RolledBack
	return rep, fmt.Errorf("%w: no hub could be reached after it", executor.ErrRolledBack)
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
