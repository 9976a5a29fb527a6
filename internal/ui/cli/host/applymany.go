package host

import (
	"context"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// applyPlans plans on every target, asks, and runs the plans.
func applyPlans(ctx context.Context, cr *cli.TargetSet, f RunFlags, o executor.Options,
	look func(context.Context, *cli.Member, executor.Executor) (*seen, error)) error {
	return planAndDo(ctx, cr, f, "Apply these plans?", "Applied", decidePlan(f, o, look), applyOne)
}

// decidePlan returns a planner that refuses forbidden runs: on a frozen host, or against the assignment of an agent.
func decidePlan(f RunFlags, o executor.Options, look func(context.Context, *cli.Member, executor.Executor) (*seen,
	error)) func(context.Context, *cli.Member, executor.Executor) (*seen, error) {
	return func(ctx context.Context, m *cli.Member, x executor.Executor) (*seen, error) {
		if err := mayApply(ctx, m.Session, x, o); err != nil {
			return nil, err
		}
		w, err := look(ctx, m, x)
		if err == nil {
			err = checkAssignment(ctx, m.Session, x, w.plan)
		}
		if err != nil {
			return nil, err
		}
		w.options, err = lockOut(m.Session, f, f.withPolicy(o, w.request.Policy), w.request.Policy)
		w.options.Unasked = f.yes && !o.Exact
		return w, err
	}
}

// applyOne runs a plan on a target.
func applyOne(ctx context.Context, m *cli.Member, x executor.Executor, w *seen) (*executor.Report, error) {
	rep, err := x.Apply(ctx, w.request, w.plan, w.options, func(executor.Event) {})
	if err == nil && m.Remote != nil && w.options.LockOut > 0 {
		err = confirmAnew(ctx, m.Session, rep)
	}
	return rep, err
}
