package host

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// NewRollback builds the command rollback, to restore the host to an earlier run.
func NewRollback(s *cli.Session) *cobra.Command {
	var f rollbackFlags
	c := &cobra.Command{
		Use:   "rollback [TO]",
		Short: "Restore the host to an earlier run",
		Long: `Restores the state after an earlier run: content, owners, modes, packages,
units. Rollback needs neither git nor the repository, because step lists and
content are stored on the host.

TO is
  nothing            the state before the last run; repeated, it undoes the
                     rollback
  a number           that run (see: fettle log)
  0 or origin        before fettle first changed the host
  a commit           its newest run; the beginning of its hash is enough
  a branch or tag    the newest run of its commit (uses git)

A rollback is also a run: a second rollback returns to the state before it. If
it includes steps that have no inverse, it lists them, and changes nothing. With
--cross-irreversible it restores all other objects, and the effects of these
steps stay.

A rollback is never armed: fettle does not wait for "fettle confirm", even if
the rollback locks you out. A rollback that fails is undone only with
--on-failure undo or --on-check-failure undo. After a crash, --on-crash applies.

Through a hub (--via hub), a rollback is refused if the agent of a target would
undo it at once. First stop the agent (fettle target freeze TARGET), or pin the
target to the commit of that run (fettle target pin TARGET --branch COMMIT). Do
not use fettle freeze for this: it also refuses rollbacks.

If an address cannot be restored now (a file became a link, for example), it is
an error, and nothing changes. --skip-blocked restores all other addresses, and
exits with 1; the same command restores the remaining addresses later.`,
		Example: "  sudo fettle rollback\n  sudo fettle rollback 12\n  sudo fettle rollback origin --yes\n  sudo fettle rollback v1.4",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			to := ""
			if len(a) == 1 {
				to = a[0]
			}
			if s.IsMany() {
				return rollbackMany(s, c, f, to)
			}
			return runRollback(c.Context(), s, f, to)
		},
	}
	f.Flags(c)
	f.many.Flags(c)
	cli.CrossIrreversibleFlag(c, &f.cross, "restore all other objects; keep effects that cannot be undone")
	s.FrozenFlag(c)
	s.LocksFlag(c)
	c.Flags().BoolVar(&s.OverrideAgent, "override-agent", false,
		"roll back targets through the hub even if their agents undo it")
	c.Flags().BoolVar(&f.skip, "skip-blocked", false, "do not change addresses that cannot be restored now")
	return c
}

func runRollback(ctx context.Context, s *cli.Session, f rollbackFlags, to string) error {
	o, err := f.Options(s)
	if err != nil {
		return err
	}
	r := executor.RollbackRequest{CrossIrreversible: f.cross, SkipBlocked: f.skip, Diffs: f.Wants(s.Printer),
		Guards: f.Guards()}
	var p *plan.Plan
	decide := func(x executor.Executor) error {
		if err := mayRun(ctx, s.Printer, x, o); err != nil {
			return err
		}
		if r.To, err = findRun(ctx, s, x, to); err != nil {
			return err
		}
		if p, err = x.PlanRollback(ctx, r); err != nil {
			return orSkip(err)
		}
		tellNotes(s.Printer, p)
		if err := checkRollback(s, p); err != nil {
			return err
		}
		return approveRollback(ctx, s, p, f)
	}
	return s.DecideAndDo(ctx, decide, func(x executor.Executor) error {
		return execute(s, p, "Rolled back", func(show func(executor.Event)) (*executor.Report, error) {
			return x.Rollback(ctx, r, p, o, show)
		})
	})
}

func approveRollback(ctx context.Context, s *cli.Session, p *plan.Plan, f rollbackFlags) error {
	if len(p.Irreversible()) > 0 && !f.cross {
		if !s.JSON {
			s.Style().Plan(s.App.Stdout, p, f.viewFlags.options(s.Printer))
		}
		return cli.WithHint(fmt.Errorf("cannot roll back to %s: %w", render.RunName(p.To), executor.ErrIrreversible),
			"Roll back anyway, and keep their effects: add --cross-irreversible")
	}
	return approve(ctx, s, p, f.RunFlags, backMayLockOut(p), fmt.Sprintf("Roll back to %s?", render.RunName(p.To)))
}
