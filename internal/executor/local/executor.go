package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// Apply implements executor.Executor.
func (x *Executor) Apply(ctx context.Context, r executor.Request, p *plan.Plan, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	l, err := x.runs.enter(ctx, o, show)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := x.runs.mayApply(o); err != nil {
		return nil, err
	}
	r.Diffs = false
	h := x.runs.hold(ctx, o, show)
	defer h.release()
	for {
		now, st, todo, err := x.agreed(ctx, &r, p, o, show)
		again := false
		if err == nil {
			ctx, again, err = h.acquire(ctx, executor.NeededLocks(now, r.List))
		}
		if err != nil {
			return nil, err
		}
		if again {
			x.looks.last = looked{}
			continue
		}
		o = o.For(now)
		rep, err := x.runs.runOrVerify(ctx, r, now, st, todo, o, show)
		if err != nil || r.Next == nil && !now.More() {
			rep, err = x.runs.confirmed(rep, err, o)
			return rep, h.explain(ctx, leftAs(now, err))
		}
		rep, err = x.runs.follow(ctx, r, now, rep, o, show, h)
		return rep, h.explain(ctx, err)
	}
}

// agreed plans a request. It is an error if the plan differs from p, which the user has seen, unless p is nil.
func (x *Executor) agreed(ctx context.Context, r *executor.Request, p *plan.Plan, o executor.Options,
	show func(executor.Event)) (*plan.Plan, journal.State, bool, error) {
	now, st, todo, err := x.looks.lookAgain(ctx, r, p, o)
	if err != nil {
		return nil, st, false, err
	}
	if p != nil && x.looks.last.plan != p && p.Digest() != now.Digest() {
		return nil, st, false, fmt.Errorf("%w: the host or the applied state has changed since the plan; run: fettle plan",
			executor.ErrStale)
	}
	if err := x.runs.mendAfter(now); err != nil {
		return nil, st, false, err
	}
	before := now
	if now, st, todo, err = x.looks.asked(ctx, *r, now, st, todo); err != nil {
		return nil, st, false, err
	}
	if now != before {
		announce(show, now, "after its guards")
	}
	return now, st, todo, nil
}

// Rollback implements executor.Executor.
func (x *Executor) Rollback(ctx context.Context, r executor.RollbackRequest, p *plan.Plan, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	l, err := x.runs.enter(ctx, o, show)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := x.runs.thawed(); err != nil && !o.IgnoreFreeze {
		return nil, err
	}
	r.Diffs = false
	h := x.runs.hold(ctx, o, show)
	defer h.release()
	for {
		now, g, err := x.planner.planRollback(ctx, r)
		if err != nil {
			return nil, err
		}
		if p != nil && p.Digest() != now.Digest() {
			return nil, fmt.Errorf("%w: the host has changed since the plan was shown; show the plan again", executor.ErrStale)
		}
		again := false
		if ctx, again, err = h.acquire(ctx, executor.NeededLocks(now, nil)); err != nil {
			return nil, err
		}
		if again {
			continue
		}
		if err := x.runs.mendAfter(now); err != nil {
			return nil, err
		}
		rep, err := x.runs.rollback(ctx, withoutDiffs(now), g, r, o, show)
		if err == nil {
			err = x.store.Disarm()
		}
		return rep, h.explain(ctx, leftAs(now, err))
	}
}

// Freeze implements executor.Executor.
func (x *Executor) Freeze(_ context.Context, f journal.Frozen, o executor.Options) error {
	l, err := x.lock(o)
	if err != nil {
		return err
	}
	defer l.Close()
	if f.At == 0 {
		f.At = x.now().UnixNano()
	}
	return x.store.Freeze(f)
}

// Unfreeze implements executor.Executor.
func (x *Executor) Unfreeze(_ context.Context, o executor.Options) error {
	l, err := x.lock(o)
	if err != nil {
		return err
	}
	defer l.Close()
	return x.store.Unfreeze()
}

// Collect implements executor.Executor.
func (x *Executor) Collect(_ context.Context, keep journal.Retention, o executor.Options) (journal.Collected, error) {
	l, err := x.lock(o)
	if err != nil {
		return journal.Collected{}, err
	}
	defer l.Close()
	return x.store.Collect(keep)
}

// Confirm implements executor.Executor.
func (x *Executor) Confirm(_ context.Context, o executor.Options) (int, error) {
	l, err := x.lock(o)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	a, err := x.store.ArmedRun()
	if err != nil {
		return 0, err
	}
	if a == nil {
		return 0, errors.New("no run waits for a confirmation; to see the applied run: fettle status")
	}
	if x.now().UnixNano() >= a.Deadline {
		return a.Run, fmt.Errorf("the time to confirm run %d is over; it is being undone", a.Run)
	}
	return a.Run, x.store.Disarm()
}

// Recover implements executor.Executor.
func (x *Executor) Recover(ctx context.Context, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	l, err := x.lock(o)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := x.runs.mend(show); err != nil {
		return nil, err
	}
	rep, err := x.runs.recoverRun(ctx, o, show)
	if err == nil {
		err = x.store.RecoverCommands()
	}
	if rep == nil && err == nil {
		err = x.runner(o, show).RecoverPackages(ctx)
	}
	return rep, err
}

// Plan implements executor.Executor.
func (x *Executor) Plan(ctx context.Context, r executor.Request) (*plan.Plan, error) {
	if err := x.quiet(); err != nil {
		return nil, err
	}
	p, _, _, err := x.looks.look(ctx, &r)
	x.saveCache()
	x.runs.noteLocks(ctx, p, err, r.List)
	return p, err
}

// PlanRollback implements executor.Executor.
func (x *Executor) PlanRollback(ctx context.Context, r executor.RollbackRequest) (*plan.Plan, error) {
	if err := x.quiet(); err != nil {
		return nil, err
	}
	p, _, err := x.planner.planRollback(ctx, r)
	x.saveCache()
	x.runs.noteLocks(ctx, p, err, nil)
	return p, err
}

// Drift implements executor.Executor: it compares the applied state with the machine.
func (x *Executor) Drift(ctx context.Context, o executor.DriftOptions) (*plan.Plan, error) {
	if err := x.quiet(); err != nil {
		return nil, err
	}
	st, err := x.store.State()
	if err != nil {
		return nil, fmt.Errorf("cannot read the applied state: %w", err)
	}
	notes := x.store.Notes()
	st.Entries, _ = x.planner.followed(st.Entries)
	list, unreached, err := x.planner.goalList(st)
	if err != nil {
		return nil, err
	}
	x.host.Seal(apply.Sealed([]step.List{list}))
	seen, err := x.planner.observe(ctx, list, o.Verify, o.Guards)
	if err != nil {
		return nil, err
	}
	p, problems := plan.Make(plan.Input{Operation: journal.OpApply, Target: st.Target, Revision: st.Revision,
		Desired:     list,
		AppliedList: list, Applied: st, Observed: seen.images, Failed: seen.failed, Rules: rules{x.names},
		Names: x.planner.namesLike, Repair: true, Unreached: unreached})
	x.saveCache()
	p.Notes = append(slices.Clip(notes), unanswered(p.Changes)...)
	p.Changes = drifted(p.Changes, problems)
	if o.Verify {
		x.planner.driftedAttributes(p, st, o.Attributes)
	}
	if o.Diffs {
		x.planner.diffs(p, nil)
		p.Changes = foundAndExpected(p.Changes)
	}
	return p, nil
}

// List implements executor.Executor.
func (x *Executor) List(_ context.Context, run int) (step.List, error) {
	st, err := x.stateAt(run)
	if err != nil {
		return nil, err
	}
	return x.listOf(st)
}
