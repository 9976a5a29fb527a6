package local

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// Recover implements executor.Executor.
func (x *Executor) Recover(ctx context.Context, o executor.Options, show func(executor.Event)) (*executor.Report, error) {
	l, err := x.lock(o)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := x.mend(show); err != nil {
		return nil, err
	}
	rep, err := x.recoverRun(ctx, o, show)
	if err == nil {
		err = x.store.SettleCommands()
	}
	if rep == nil && err == nil {
		err = x.runner(o, show).SettlePackages(ctx)
	}
	return rep, err
}

// mend writes again what of the state directory is lost or damaged, and tells of it.
func (x *Executor) mend(show func(executor.Event)) error {
	notes, err := x.store.Mend()
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
func (x *Executor) mendAfter(p *plan.Plan) error {
	if len(p.Notes) == 0 {
		return nil
	}
	return x.mend(nil)
}

// recoverRun recovers a crashed run, then reverts a run that was not confirmed in time.
func (x *Executor) recoverRun(ctx context.Context, o executor.Options, show func(executor.Event)) (*executor.Report, error) {
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
