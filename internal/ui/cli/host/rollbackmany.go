package host

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func rollbackMany(s *cli.Session, c *cobra.Command, f rollbackFlags, to string) error {
	ctx := c.Context()
	o, err := f.Options(s)
	if err != nil {
		return err
	}
	cr, err := s.TargetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.Close()
	decide := func(ctx context.Context, m *cli.Member, x executor.Executor) (*seen, error) {
		if err := mayRun(ctx, m.Printer, x, o); err != nil {
			return nil, err
		}
		run, err := findRun(ctx, m.Session, x, to)
		if err != nil {
			return nil, err
		}
		p, err := x.PlanRollback(ctx, executor.RollbackRequest{To: run, CrossIrreversible: f.cross, SkipBlocked: f.skip,
			Diffs: f.Wants(cr.Session.Printer), Guards: f.Guards()})
		if err == nil && len(p.Irreversible()) > 0 && !f.cross {
			err = cli.WithHint(fmt.Errorf("cannot roll back to %s: %w", render.RunName(run), executor.ErrIrreversible),
				"Roll back anyway, and keep their effects: add --cross-irreversible")
		}
		if err == nil {
			err = checkRollback(m.Session, p)
		}
		return &seen{to: run, plan: p}, err
	}
	do := func(ctx context.Context, _ *cli.Member, x executor.Executor, w *seen) (*executor.Report, error) {
		return x.Rollback(ctx, executor.RollbackRequest{To: w.to, CrossIrreversible: f.cross, SkipBlocked: f.skip,
			Guards: f.Guards()}, w.plan, o, func(executor.Event) {})
	}
	return planAndDo(ctx, cr, f.RunFlags, "Roll these back?", "Rolled back", decide, do)
}
