package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/plan"
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
func (cr *targetSet) wantedPlan(c *cobra.Command, noRepair bool, v viewFlags) func(context.Context, *member,
	executor.Executor) (*seen, error) {
	return func(ctx context.Context, m *member, x executor.Executor) (*seen, error) {
		req, err := cr.wantedFor(ctx, m)
		if err != nil {
			return nil, err
		}
		req.Repair, req.Diffs, req.Verify = repairs(c, noRepair, req.Policy), v.wants(cr.s.printer), v.verify
		req.Guards = v.guards()
		p, err := x.Plan(ctx, req)
		return &seen{request: req, plan: p}, err
	}
}

// planned is the outcome of planning.
func (cr *targetSet) planned(p *plan.Plan, warning string, v viewFlags) outcome {
	var b strings.Builder
	st := cr.s.style()
	if len(p.Changes) > 0 {
		st.PlanBody(&b, p, v.options(cr.s.printer))
	}
	if warning != "" {
		b.WriteString("\n" + warning + "\n")
	}
	o := outcome{status: fanout.OK, line: render.Style{}.Summary(p), body: b.String(), doc: planJSON("fettle.plan/1", p),
		err: changesIn(p), notes: p.Notes}
	if o.err != nil {
		o.status = fanout.Changed
	} else {
		o.body = ""
	}
	return o
}

func planMany(s *session, c *cobra.Command, f planFlags) error {
	if f.out != "" {
		return planAndSave(s, c, f)
	}
	_, err := planEach(s, c, f, func(bool, executor.Request, *plan.Plan) error { return nil })
	return err
}

// planEach plans on every target, keeps each plan, and shows them. It counts the targets
// that have none.
func planEach(s *session, c *cobra.Command, f planFlags,
	keep func(far bool, _ executor.Request, _ *plan.Plan) error) (int, error) {
	cr, err := s.targetSet(c.Context(), f.many)
	if err != nil {
		return 0, err
	}
	defer cr.close()
	look := cr.wantedPlan(c, f.noRepair, f.viewFlags)
	all := cr.round(c.Context(), cr.names, "Planning", true,
		func(ctx context.Context, m *member, x executor.Executor) outcome {
			seen, err := look(ctx, m, x)
			if err == nil {
				err = keep(m.remote != nil, seen.request, seen.plan)
			}
			if err != nil {
				return failed(err)
			}
			return cr.planned(seen.plan, "", f.viewFlags)
		})
	return unsaved(all), cr.finish("Planned", all, planWords())
}

func planWords() map[fanout.Status]string {
	return map[fanout.Status]string{fanout.OK: "in sync", fanout.Changed: "with changes"}
}

// finish shows how a command ended on its targets.
func (cr *targetSet) finish(verb string, all map[string]outcome, words map[fanout.Status]string) error {
	err := exitOf(all)
	showGroups(cr.s, all, words)
	showCounts(cr.s.printer, verb, all, words, err)
	cr.showWarned()
	if cr.changes {
		remember(cr.s, cr.src, all)
		became := map[string]string{}
		for name, o := range all {
			became[name] = o.status.String()
		}
		cr.s.note(became)
	}
	return err
}

// showWarned says that there were warnings, which are mostly the same for all.
func (cr *targetSet) showWarned() {
	n := 0
	for _, m := range cr.members {
		n += m.warned
	}
	if n > 0 && !cr.s.json {
		cr.s.errStyle().Warning(cr.s.app.Stderr, fmt.Sprintf("compiling reported %s; see them: fettle validate",
			render.Count(n, "warning")))
	}
}

func applyMany(s *session, c *cobra.Command, f applyFlags) error {
	ctx := c.Context()
	o, err := f.options(s)
	if err != nil {
		return err
	}
	cr, err := s.targetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.close()
	if cr.src.rev.Dirty && !f.dirty {
		return refuse("Commit them: git commit\nOr apply them as they are: fettle apply --dirty",
			"cannot apply: the repository has uncommitted changes")
	}
	return cr.applyPlans(ctx, f.runFlags, o, cr.wantedPlan(c, f.noRepair, f.viewFlags))
}

// applyPlans plans on every target, asks, and runs the plans.
func (cr *targetSet) applyPlans(ctx context.Context, f runFlags, o executor.Options,
	look func(context.Context, *member, executor.Executor) (*seen, error)) error {
	decide := func(ctx context.Context, m *member, x executor.Executor) (*seen, error) {
		if err := mayApply(ctx, m.session, x, o); err != nil {
			return nil, err
		}
		w, err := look(ctx, m, x)
		if err == nil {
			err = checkAssignment(ctx, m.session, x, w.plan)
		}
		if err != nil {
			return nil, err
		}
		w.options, err = lockOut(m.session, f, f.withPolicy(o, w.request.Policy), w.request.Policy)
		w.options.Unasked = f.yes && !o.Exact
		return w, err
	}
	do := func(ctx context.Context, m *member, x executor.Executor, w *seen) (*executor.Report, error) {
		rep, err := x.Apply(ctx, w.request, w.plan, w.options, func(executor.Event) {})
		if err == nil && m.remote != nil && w.options.LockOut > 0 {
			err = confirmAnew(ctx, m.session, rep)
		}
		return rep, err
	}
	return cr.planAndDo(ctx, f, "Apply these plans?", "Applied", decide, do)
}

func rollbackMany(s *session, c *cobra.Command, f rollbackFlags, to string) error {
	ctx := c.Context()
	o, err := f.options(s)
	if err != nil {
		return err
	}
	cr, err := s.targetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.close()
	decide := func(ctx context.Context, m *member, x executor.Executor) (*seen, error) {
		if err := mayRun(ctx, m.printer, x, o); err != nil {
			return nil, err
		}
		run, err := findRun(ctx, m.session, x, to)
		if err != nil {
			return nil, err
		}
		p, err := x.PlanRollback(ctx, executor.RollbackRequest{To: run, CrossIrreversible: f.cross, SkipBlocked: f.skip,
			Diffs: f.wants(cr.s.printer), Guards: f.guards()})
		if err == nil && len(p.Irreversible()) > 0 && !f.cross {
			err = withHint(fmt.Errorf("cannot roll back to %s: %w", render.RunName(run), executor.ErrIrreversible),
				"Roll back anyway, and keep their effects: add --cross-irreversible")
		}
		if err == nil {
			err = checkRollback(m.session, p)
		}
		return &seen{to: run, plan: p}, err
	}
	do := func(ctx context.Context, _ *member, x executor.Executor, w *seen) (*executor.Report, error) {
		return x.Rollback(ctx, executor.RollbackRequest{To: w.to, CrossIrreversible: f.cross, SkipBlocked: f.skip,
			Guards: f.guards()}, w.plan, o, func(executor.Event) {})
	}
	return cr.planAndDo(ctx, f.runFlags, "Roll these back?", "Rolled back", decide, do)
}

// planAndDo plans on every target, shows equal plans once, asks, and applies. With --yes it does not
// ask, and connects to each target once.
func (cr *targetSet) planAndDo(ctx context.Context, f runFlags, question, verb string,
	decide func(context.Context, *member, executor.Executor) (*seen, error),
	do func(context.Context, *member, executor.Executor, *seen) (*executor.Report, error)) error {
	act := func(ctx context.Context, m *member, x executor.Executor) outcome {
		w, _ := m.work.(*seen)
		if w == nil {
			var err error
			if w, err = decide(ctx, m, x); err != nil {
				return failed(err)
			}
		}
		rep, err := do(ctx, m, x, w)
		return cr.done(verb, rep, w.plan, err)
	}
	cr.changes = true
	names, left := cr.names, map[string]outcome{}
	if !f.yes {
		var err error
		if names, left, err = cr.approve(ctx, f, question, decide); err != nil {
			return err
		}
	}
	cr.acts = true
	all := cr.round(ctx, names, "Applying", true, act)
	for name, o := range left {
		all[name] = o
		targetLine(cr.s.printer, name, o)
	}
	return cr.finish(verb, all, map[fanout.Status]string{fanout.OK: "in sync"})
}

// approve shows the plans and asks. It returns the targets with changes; the other ones have their
// result.
func (cr *targetSet) approve(ctx context.Context, f runFlags, question string,
	decide func(context.Context, *member, executor.Executor) (*seen, error)) ([]string, map[string]outcome, error) {
	if cr.s.json || !cr.s.app.Terminal.In {
		return nil, nil, cr.s.ask(ctx, false, question)
	}
	plans := cr.round(ctx, cr.names, "Planning", false, func(ctx context.Context, m *member, x executor.Executor) outcome {
		w, err := decide(ctx, m, x)
		if err != nil {
			return failed(err)
		}
		m.work = w
		return cr.planned(w.plan, m.warnsOf(w.plan, w.options), f.viewFlags)
	})
	showGroups(cr.s, plans, planWords())
	var names []string
	left := map[string]outcome{}
	for _, name := range cr.names {
		if o := plans[name]; o.status == fanout.Changed || o.status == fanout.OK {
			names = append(names, name)
			o.err = nil
		} else {
			left[name] = o
		}
	}
	changes := 0
	for _, o := range plans {
		if o.status == fanout.Changed {
			changes++
		}
	}
	if changes == 0 {
		return names, left, nil
	}
	return names, left, cr.s.ask(ctx, false, fmt.Sprintf("%s (%s)", question, render.Count(changes, "target")))
}

// done is the outcome of a run.
func (cr *targetSet) done(verb string, rep *executor.Report, p *plan.Plan, err error) outcome {
	err = outcomeError(rep, err)
	if rep == nil {
		return failed(err)
	}
	var b strings.Builder
	cr.s.style().GroupReport(&b, verb, rep)
	o := outcome{status: fanout.OK, line: render.Style{}.OutcomeWords(verb, rep), body: b.String(),
		doc: reportJSON(rep, p, err), err: err}
	if p != nil {
		o.notes = p.Notes
	}
	switch {
	case err != nil:
		o.status = fanout.Failed
		if rep.Failed == nil && !explained(rep) {
			o.body += "error: " + err.Error() + "\n"
		}
	case rep.Changed > 0:
		o.status = fanout.Changed
	default:
		o.body = ""
	}
	return o
}
