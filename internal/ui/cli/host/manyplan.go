package host

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// seen is the result of the first round for the second: the plan and its request.
type seen struct {
	request executor.Request
	to      int // of a rollback
	plan    *plan.Plan
	options executor.Options
}

// wantedPlan reads the options of a plan of many targets from the command line.
func wantedPlan(cr *cli.TargetSet, c *cobra.Command, noRepair bool, v viewFlags) func(context.Context, *cli.Member,
	executor.Executor) (*seen, error) {
	return func(ctx context.Context, m *cli.Member, x executor.Executor) (*seen, error) {
		req, err := cr.RequestFor(ctx, m)
		if err != nil {
			return nil, err
		}
		req.Repair, req.Diffs, req.Verify = repairs(c, noRepair, req.Policy), v.Wants(cr.Session.Printer), v.Verify
		req.Guards = v.Guards()
		p, err := x.Plan(ctx, req)
		return &seen{request: req, plan: p}, err
	}
}

// planEach plans on every target, keeps each plan, and shows them. It counts the targets
// that have none.
func planEach(s *cli.Session, c *cobra.Command, f PlanFlags,
	keep func(far bool, _ executor.Request, _ *plan.Plan) error) (int, error) {
	cr, err := s.TargetSet(c.Context(), f.many)
	if err != nil {
		return 0, err
	}
	defer cr.Close()
	look := wantedPlan(cr, c, f.NoRepair, f.viewFlags)
	all := cr.Round(c.Context(), cr.Names, "Planning", true,
		func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
			seen, err := look(ctx, m, x)
			if err == nil {
				err = keep(m.Remote != nil, seen.request, seen.plan)
			}
			if err != nil {
				return cli.Failed(err)
			}
			return outcomeOfPlan(cr, seen.plan, "", f.viewFlags)
		})
	return unsaved(all), cr.Finish("Planned", all, planWords())
}

// planAndDo plans on every target, shows equal plans once, asks, and applies. With --yes it does not
// ask, and connects to each target once.
func planAndDo(ctx context.Context, cr *cli.TargetSet, f RunFlags, question, verb string,
	decide func(context.Context, *cli.Member, executor.Executor) (*seen, error),
	do func(context.Context, *cli.Member, executor.Executor, *seen) (*executor.Report, error)) error {
	act := func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
		w, _ := m.Work.(*seen)
		if w == nil {
			var err error
			if w, err = decide(ctx, m, x); err != nil {
				return cli.Failed(err)
			}
		}
		rep, err := do(ctx, m, x, w)
		return outcomeOfRun(cr, verb, rep, w.plan, err)
	}
	cr.Changes = true
	names, left := cr.Names, map[string]round.Outcome{}
	if !f.yes {
		var err error
		if names, left, err = approvePlans(ctx, cr, f, question, decide); err != nil {
			return err
		}
	}
	cr.Acts = true
	all := cr.Round(ctx, names, "Applying", true, act)
	for name, o := range left {
		all[name] = o
		cli.TargetLine(cr.Session.Printer, name, o)
	}
	return cr.Finish(verb, all, map[fanout.Status]string{fanout.OK: "in sync"})
}

// approvePlans shows the plans and asks. It returns the targets with changes; the other ones have their
// result.
func approvePlans(ctx context.Context, cr *cli.TargetSet, f RunFlags, question string,
	decide func(context.Context, *cli.Member, executor.Executor) (*seen, error)) ([]string, map[string]round.Outcome,
	error) {
	if cr.Session.JSON || !cr.Session.App.Terminal.In {
		return nil, nil, cr.Session.Ask(ctx, false, question)
	}
	plans := cr.Round(ctx, cr.Names, "Planning", false,
		func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
			w, err := decide(ctx, m, x)
			if err != nil {
				return cli.Failed(err)
			}
			m.Work = w
			return outcomeOfPlan(cr, w.plan, warningOf(m.Session, w.plan, w.options), f.viewFlags)
		})
	cli.ShowGroups(cr.Session, plans, planWords())
	var names []string
	left := map[string]round.Outcome{}
	for _, name := range cr.Names {
		if o := plans[name]; o.Status == fanout.Changed || o.Status == fanout.OK {
			names = append(names, name)
			o.Err = nil
		} else {
			left[name] = o
		}
	}
	changes := 0
	for _, o := range plans {
		if o.Status == fanout.Changed {
			changes++
		}
	}
	if changes == 0 {
		return names, left, nil
	}
	return names, left, cr.Session.Ask(ctx, false, fmt.Sprintf("%s (%s)", question, render.Count(changes, "target")))
}
