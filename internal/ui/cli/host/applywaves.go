package host

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/waves"
	"fettle.dev/fettle/internal/ui/render"
)

// planner plans on one target.
type planner func(context.Context, *cli.Member, executor.Executor) (*seen, error)

// applyInWaves performs a rollout, or continues it.
func applyInWaves(ctx context.Context, cr *cli.TargetSet, c *cobra.Command, f applyFlags, o executor.Options) error {
	look := planner(decidePlan(f.RunFlags, o, wantedPlan(cr, c, f.noRepair, f.viewFlags)))
	check := planner(decidePlan(f.RunFlags, o, wantedPlan(cr, c, true, f.viewFlags)))
	f.decisions.Silent = f.yes
	return waves.Rollout{Targets: cr, Strategy: f.rollout, Decisions: f.decisions,
		IgnoreWindows: f.windows.reason != "",
		Plan:          look.once(cr),
		Apply:         look.apply(cr),
		Check:         check.check(cr),
		Return: func(ctx context.Context, x executor.Executor, run int) round.Outcome {
			return returnTo(ctx, cr, x, o, run)
		},
		Ask: func(ctx context.Context, question string) error {
			if f.yes {
				return nil
			}
			_, _, err := approvePlans(ctx, cr, f.RunFlags, question, look)
			return err
		}}.Run(ctx)
}

// rolloutFlags adds the flags of a rollout.
func rolloutFlags(c *cobra.Command, f *applyFlags) {
	d := &f.decisions
	c.Flags().StringVar(&f.rollout, "rollout", "",
		"change the targets of -t in waves, with this `STRATEGY` of the repository, careful or at-once")
	c.Flags().BoolVar(&d.Resume, "resume", false,
		"with --rollout: continue a rollout that paused; its failures so far are accepted")
	c.Flags().StringArrayVar(&d.Approve, "approve", nil,
		"with --rollout: continue a rollout that waits for this `GATE`, and approve it")
	c.Flags().StringArrayVar(&d.Reject, "reject", nil,
		"with --rollout: reject this `GATE` for which the rollout waits")
}

// once plans a target. The plan that the user approved is used once.
func (look planner) once(cr *cli.TargetSet) func(context.Context, *cli.Member, executor.Executor) (*plan.Plan,
	round.Outcome) {
	return func(ctx context.Context, m *cli.Member, x executor.Executor) (*plan.Plan, round.Outcome) {
		s, _ := m.Work.(*seen)
		m.Work = nil
		if s == nil {
			var err error
			if s, err = look(ctx, m, x); err != nil {
				return nil, cli.Failed(err)
			}
		}
		return s.plan, outcomeOfPlan(cr, s.plan, "", viewFlags{})
	}
}

func (look planner) apply(cr *cli.TargetSet) waves.Operation {
	return func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
		s, err := look(ctx, m, x)
		if err != nil {
			return cli.Failed(err)
		}
		rep, err := applyOne(ctx, m, x, s)
		return outcomeOfRun(cr, "Applied", rep, s.plan, err)
	}
}

// check runs the checks of a target. While a command of the list would run again, or a path drifted, they do not run:
// the run would also change the target. A target with another list has failed.
func (look planner) check(cr *cli.TargetSet) waves.Operation {
	return func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
		s, err := look(ctx, m, x)
		if err != nil {
			return cli.Failed(err)
		}
		_, same, err := waves.Applied(ctx, x, s.plan.List)
		switch {
		case err != nil:
			return cli.Failed(err)
		case !same:
			return cli.Failed(errors.New("another list was applied since the rollout applied its list"))
		case !s.plan.Empty():
			return round.Outcome{Status: fanout.OK, Line: render.Style{}.Summary(s.plan)}
		}
		rep, err := applyOne(ctx, m, x, s)
		return outcomeOfRun(cr, "Checked", rep, s.plan, err)
	}
}

// returnTo rolls a target back.
func returnTo(ctx context.Context, cr *cli.TargetSet, x executor.Executor, o executor.Options, run int) round.Outcome {
	req := executor.RollbackRequest{To: run, CrossIrreversible: o.CrossIrreversible}
	p, err := x.PlanRollback(ctx, req)
	if err != nil {
		return cli.Failed(err)
	}
	rep, err := x.Rollback(ctx, req, p, o, func(executor.Event) {})
	return outcomeOfRun(cr, "Rolled back", rep, p, err)
}
