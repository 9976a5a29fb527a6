package host

import (
	"context"
	"fmt"
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
rolled back. After an interruption, the same command continues the rollout.

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
	cli.CrossIrreversibleFlag(c, &f.cross, "allow changes that cannot be undone, such as a purge of a package")
	c.Flags().BoolVar(&f.noRepair, "no-repair", false, "report drift instead of repairing it")
	c.Flags().StringVar(&f.rollout, "rollout", "",
		"change the targets of -t in waves, with this `STRATEGY` of the repository, careful or at-once")
	c.Flags().BoolVar(&f.resume, "resume", false,
		"with --rollout: continue a rollout that paused; its failures so far are accepted")
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

func applySaved(ctx context.Context, s *cli.Session, f applyFlags, o executor.Options, file string) error {
	saved, err := loadPlan(file)
	if err != nil {
		return err
	}
	defer saved.Close()
	req := saved.Request
	if s.Target != "" && s.Target != req.Target {
		return cli.Refuse("Create a plan for it: fettle plan -t "+s.Target+" -o "+file,
			fmt.Sprintf("cannot apply %q: it is a plan for %q", file, req.Target))
	}
	if saved.Far {
		if err := reconnect(ctx, s, req.Target); err != nil {
			return err
		}
	}
	req.Diffs, req.Verify, o.Exact = f.Wants(s.Printer), req.Verify || f.Verify, true
	req.Adopt = req.Adopt || s.Adopt
	return ApplyRequest(ctx, s, req, saved.Digest, f.RunFlags, o)
}

// reconnect reaches the other machine for which a plan was saved. It is never done on
// this one in its place, which may well look alike.
func reconnect(ctx context.Context, s *cli.Session, target string) error {
	s.Target = target
	r, err := s.Connected(ctx, target)
	if err == nil && r.Here && !cli.IsThisHost(s.Printer, target) {
		err = cli.Refuse("Specify how to reach it: -C DIR for its repository, or --ssh HOST",
			fmt.Sprintf("cannot reach %q: the plan was saved for a different host", target))
	}
	return err
}

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
