package executor

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// Patience says how an executor waits while another one has the lock.
type Patience struct {
	// For is how long it waits in all; 0 does not wait.
	For time.Duration
	// Pause is between two tries, 1 s where it is 0.
	Pause time.Duration
	// OnFirstRefusal is called once, with the first refusal; may be nil.
	OnFirstRefusal func(error)
}

// Patient returns an executor that retries calls on a locked machine for a while. After
// that it returns the last refusal.
func Patient(x Executor, p Patience) Executor {
	if p.For <= 0 {
		return x
	}
	if p.Pause <= 0 {
		p.Pause = time.Second
	}
	return &patient{Executor: x, p: p}
}

// patient waits for the lock in front of another executor.
type patient struct {
	Executor
	p    Patience
	left time.Duration
	told bool
}

// again retries f until f is not refused because of the lock, or the time is over. All
// calls of the executor share that time.
func (x *patient) again(ctx context.Context, f func() error) error {
	if !x.told {
		x.left = x.p.For
	}
	for {
		err := f()
		if !errors.Is(err, ErrLocked) || x.left <= 0 {
			return err
		}
		if !x.told && x.p.OnFirstRefusal != nil {
			x.p.OnFirstRefusal(err)
		}
		x.told = true
		pause := time.NewTimer(min(x.p.Pause, x.left))
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
			x.left -= x.p.Pause
		}
	}
}

func (x *patient) Plan(ctx context.Context, r Request) (p *plan.Plan, err error) {
	err = x.again(ctx, func() error { p, err = x.Executor.Plan(ctx, r); return err })
	return p, err
}

func (x *patient) Apply(ctx context.Context, r Request, p *plan.Plan, o Options,
	show func(Event)) (rep *Report, err error) {
	err = x.again(ctx, func() error { rep, err = x.Executor.Apply(ctx, r, p, o, show); return err })
	return rep, err
}

func (x *patient) PlanRollback(ctx context.Context, r RollbackRequest) (p *plan.Plan, err error) {
	err = x.again(ctx, func() error { p, err = x.Executor.PlanRollback(ctx, r); return err })
	return p, err
}

func (x *patient) Rollback(ctx context.Context, r RollbackRequest, p *plan.Plan, o Options,
	show func(Event)) (rep *Report, err error) {
	err = x.again(ctx, func() error { rep, err = x.Executor.Rollback(ctx, r, p, o, show); return err })
	return rep, err
}

func (x *patient) Drift(ctx context.Context, o DriftOptions) (p *plan.Plan, err error) {
	err = x.again(ctx, func() error { p, err = x.Executor.Drift(ctx, o); return err })
	return p, err
}

func (x *patient) Recover(ctx context.Context, o Options, show func(Event)) (rep *Report, err error) {
	err = x.again(ctx, func() error { rep, err = x.Executor.Recover(ctx, o, show); return err })
	return rep, err
}

func (x *patient) Confirm(ctx context.Context, o Options) (run int, err error) {
	err = x.again(ctx, func() error { run, err = x.Executor.Confirm(ctx, o); return err })
	return run, err
}

func (x *patient) Freeze(ctx context.Context, f journal.Frozen, o Options) error {
	return x.again(ctx, func() error { return x.Executor.Freeze(ctx, f, o) })
}

func (x *patient) Unfreeze(ctx context.Context, o Options) error {
	return x.again(ctx, func() error { return x.Executor.Unfreeze(ctx, o) })
}

func (x *patient) Collect(ctx context.Context, keep journal.Retention, o Options) (c journal.Collected, err error) {
	err = x.again(ctx, func() error { c, err = x.Executor.Collect(ctx, keep, o); return err })
	return c, err
}
