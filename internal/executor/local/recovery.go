package local

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// mend writes again what of the state directory is lost or damaged, and tells of it.
func (x *runs) mend(show func(executor.Event)) error {
	notes, err := x.store.RepairState()
	if err != nil {
		return fmt.Errorf("cannot read the applied state: %w", err)
	}
	for _, n := range notes {
		if show != nil {
			show(executor.Event{Kind: "note", Text: n})
		}
	}
	return nil
}

// mendAfter mends what was found to be lost or damaged when a plan was made.
func (x *runs) mendAfter(p *plan.Plan) error {
	if len(p.Notes) == 0 {
		return nil
	}
	return x.mend(nil)
}

// recoverRun recovers a crashed run, then reverts a run that was not confirmed in time.
func (x *runs) recoverRun(ctx context.Context, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	began := x.now()
	res, crashed, err := x.runner(o, show).Recover(ctx)
	if err != nil {
		return nil, err
	}
	a, err := x.store.ArmedRun()
	if err != nil {
		return nil, err
	}
	if a != nil && crashed && a.Run == res.Run && res.Outcome == journal.RolledBack {
		if a, err = x.armedBefore(*a); err != nil {
			return nil, err
		}
	}
	if a != nil && x.now().UnixNano() >= a.Deadline {
		return x.revert(ctx, *a, o, show)
	}
	if !crashed {
		return nil, nil
	}
	rep, _ := report(res, began, x.now(), nil)
	return rep, nil
}

// enter takes the lock and settles what earlier runs left.
func (x *runs) enter(ctx context.Context, o executor.Options, show func(executor.Event)) (io.Closer, error) {
	l, err := x.lock(o)
	if err != nil {
		return nil, err
	}
	o.OnCrash = "" // a crashed run is settled as it was started
	if _, err := x.recoverRun(ctx, o, show); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
