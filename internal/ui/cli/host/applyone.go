package host

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
)

// ApplyRequest plans, shows, asks and runs. With the digest of a saved plan it refuses
// any other; "" takes what planning gives.
func ApplyRequest(ctx context.Context, s *cli.Session, req executor.Request, saved string, f RunFlags,
	o executor.Options) error {
	o, err := lockOut(s, f, f.withPolicy(o, req.Policy), req.Policy)
	if err != nil {
		return err
	}
	o.Unasked = f.yes && saved == ""
	var p *plan.Plan
	decide := func(x executor.Executor) error {
		if err := mayApply(ctx, s, x, o); err != nil {
			return err
		}
		now, err := x.Plan(ctx, req)
		if err != nil {
			return err
		}
		tellNotes(s.Printer, now)
		if p = now; saved != "" && saved != p.Digest() {
			return stale()
		}
		if err := checkAssignment(ctx, s, x, p); err != nil {
			return err
		}
		if err := f.permitted(p); err != nil {
			return err
		}
		if len(p.Purges()) > 0 && !o.CrossIrreversible {
			return refusePurge(s.Printer, p, f)
		}
		return approve(ctx, s, p, f, warningOf(s, p, o), "Apply this plan?")
	}
	return s.DecideAndDo(ctx, decide, func(x executor.Executor) error {
		var rep *executor.Report
		err := execute(s, p, "Applied", func(show func(executor.Event)) (r *executor.Report, err error) {
			rep, err = x.Apply(ctx, req, p, o, show)
			return rep, err
		})
		if err == nil && s.Remote != nil && o.LockOut > 0 {
			return confirmAnew(ctx, s, rep)
		}
		if err != nil || f.yes {
			return err
		}
		return stillIn(ctx, s, x, rep)
	})
}

// refusePurge shows a plan that deletes data permanently, and the flag that allows it.
func refusePurge(s *cli.Printer, p *plan.Plan, f RunFlags) error {
	if !s.JSON {
		s.Style().Plan(s.App.Stdout, p, f.viewFlags.options(s))
	}
	c := p.Purges()[0]
	return cli.WithHint(fmt.Errorf("cannot apply: %s: %s: %w", c.Addr, c.Irreversible, executor.ErrIrreversible),
		"Purge it anyway: add --cross-irreversible\nOr keep its configuration and data: ensure = \"absent\"")
}

// approve shows a plan, with a warning if there is one, and asks. A plan that
// changes nothing needs no answer.
func approve(ctx context.Context, s *cli.Session, p *plan.Plan, f RunFlags, warning, question string) error {
	if !s.JSON && len(p.Changes) > 0 {
		s.Style().Plan(s.App.Stdout, p, f.viewFlags.options(s.Printer))
	}
	if warning != "" {
		s.Printf("\n%s\n", warning)
	}
	if p.Empty() {
		return nil
	}
	return s.Ask(ctx, f.yes, question)
}

// stale refuses a saved plan that would no longer have the planned result.
func stale() error {
	return fmt.Errorf("%w: this host or its applied state has changed since", executor.ErrStale)
}
