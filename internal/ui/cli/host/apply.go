package host

import (
	"os"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
)

const applyHelp = `Shows the plan, asks for confirmation, and applies the plan. With a saved plan,
the command applies exactly this plan. If the host changed since then, the
command exits with code 5. Plans that were saved for many targets are applied to
all these targets, or to the targets that -t selects.

To undo a run, use fettle rollback. If a step fails, the run stops and its
changes remain. With --on-failure undo, the run is undone.

A plan that purges a package is refused, because the configuration and data of
the package cannot be restored. --cross-irreversible allows it.

A run may lock you out if it changes sshd, sudo, PAM, the firewall, the network,
keys or accounts. Such a run undoes itself unless you confirm it within 60s: log
in over a new connection, and answer the question after the run, or type fettle
confirm. The policy of the repository can set another time, or let the checks
confirm the run. --confirm-within DURATION sets the time for any run, and
--confirm-within 0s disables the automatic undo.

With --rollout STRATEGY, many targets are changed in waves: the next wave begins
when the targets of the current one are ready. If more targets fail than the
strategy permits, the rollout stops and, by default, the changed targets are
rolled back. After an interruption, the same command continues the rollout. If a
wave waits for an approval, the command asks on a terminal. Without a terminal,
it ends, and the same command with --approve GATE or --reject GATE continues.

A target of -t is not changed outside of its windows. If all windows are closed,
no rollout begins; otherwise a rollout waits until the windows of its targets
open. --ignore-windows REASON changes the targets at any time. The first content
of a target, plans that were saved, and apply without -t wait for no window.

All files must be committed, so that every run has a revision; --dirty allows
uncommitted changes. Without a terminal, --yes is required.`

// NewApply builds the command apply, to apply the repository to the host.
func NewApply(s *cli.Session) *cobra.Command {
	var f applyFlags
	c := &cobra.Command{
		Use:   "apply [PLAN]",
		Short: "Apply the repository to the host",
		Long:  applyHelp,
		Example: `  sudo fettle apply
  sudo fettle apply --yes --on-failure undo --on-check-failure undo

  sudo fettle apply --yes --confirm-within 5m
  sudo fettle apply --yes --confirm-within 0s

  fettle apply -t 'web*' --rollout careful

  sudo fettle apply monday.plan
  fettle plan -t role:web -o monday && fettle apply monday`,
		Args: cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error { return runApply(s, c, f, a) },
	}
	f.Flags(c)
	f.Arms(c)
	f.many.Flags(c)
	c.Flags().BoolVar(&f.dirty, "dirty", false, "apply uncommitted changes too")
	c.Flags().BoolVar(&s.OverrideAgent, "override-agent", false,
		"also apply to hosts whose agent has another assignment; the agent undoes it later")
	f.windows.flag(c)
	s.AdoptFlag(c)
	s.FrozenFlag(c)
	s.LocksFlag(c)
	cli.CrossIrreversibleFlag(c, &f.cross, "allow changes that cannot be undone, such as a purge of a package")
	c.Flags().BoolVar(&f.noRepair, "no-repair", false, "report drift instead of repairing it")
	rolloutFlags(c, &f)
	return c
}

func runApply(s *cli.Session, c *cobra.Command, f applyFlags, a []string) error {
	ctx := c.Context()
	if err := f.checkRollout(s, len(a) > 0); err != nil {
		return err
	}
	if err := f.windows.check(c, s.Target != "" || s.IsMany()); err != nil {
		return err
	}
	if s.IsMany() && len(a) == 0 {
		return applyMany(s, c, f)
	}
	o, err := f.options(s)
	if err != nil {
		return err
	}
	if len(a) == 1 {
		if err := cli.AllowOnly(c, "PLAN", cli.ChangeFlags()); err != nil {
			return err
		}
		if f.Guards() != executor.IsolatedGuards {
			return cli.Refuse("Omit --run-guards and --no-guards, or save the plan with them",
				"cannot choose how guards run: a saved plan runs them as it did when it was created")
		}
		if st, err := os.Stat(a[0]); err == nil && (st.IsDir() || s.IsMany()) {
			return applySavedMany(ctx, s, f, a[0])
		}
		return applySaved(ctx, s, f, o, a[0])
	}
	req, closing, err := s.Request(ctx, true)
	if err != nil {
		return err
	}
	defer closing()
	if req.Revision.Dirty && !f.dirty {
		return cli.Refuse("Commit them: git commit\nOr apply them as they are: fettle apply --dirty",
			"cannot apply: the repository has uncommitted changes")
	}
	req.Repair, req.Diffs, req.Verify = repairs(c, f.noRepair, req.Policy), f.Wants(s.Printer), f.Verify
	req.Guards = f.Guards()
	if s.Target != "" && f.windows.reason == "" {
		all, err := windowsOf(ctx, s)
		if err != nil {
			return err
		}
		f.permits = func(p *plan.Plan) error { return insideWindows(ctx, s, all, p) }
	}
	return ApplyRequest(ctx, s, req, "", f.RunFlags, o)
}

func applyMany(s *cli.Session, c *cobra.Command, f applyFlags) error {
	ctx := c.Context()
	o, err := f.options(s)
	if err != nil {
		return err
	}
	cr, err := s.TargetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.Close()
	if cr.Source.Rev.Dirty && !f.dirty {
		return cli.Refuse("Commit them: git commit\nOr apply them as they are: fettle apply --dirty",
			"cannot apply: the repository has uncommitted changes")
	}
	if f.rollout != "" {
		return applyInWaves(ctx, cr, c, f, o)
	}
	return applyPlans(ctx, cr, f.RunFlags, o, f.windows.inside(wantedPlan(cr, c, f.noRepair, f.viewFlags)))
}
