package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/render"
)

// viewFlags are the flags of every command that shows a plan.
type viewFlags struct {
	diff, noDiff, verify bool
	runGuards, noGuards  bool
	full                 bool
}

func (v *viewFlags) flags(c *cobra.Command) {
	c.Flags().BoolVar(&v.diff, "diff", false, "show differences of content (default: on a terminal)")
	c.Flags().BoolVar(&v.noDiff, "no-diff", false, "do not show differences of content")
	c.Flags().BoolVar(&v.verify, "verify", false, "read every byte instead of trusting times and sizes")
	c.Flags().BoolVar(&v.runGuards, "run-guards", false,
		"run the guards of commands (unless, only_if) on the host, not isolated from it")
	c.Flags().BoolVar(&v.noGuards, "no-guards", false, "run no guards for the plan: their results are unknown")
	c.Flags().BoolVar(&v.full, "full", false, "list each change of a long plan instead of groups with counts")
	c.MarkFlagsMutuallyExclusive("diff", "no-diff")
	c.MarkFlagsMutuallyExclusive("run-guards", "no-guards")
}

// guards returns how guards run before the plan.
func (v *viewFlags) guards() executor.Guards {
	switch {
	case v.runGuards:
		return executor.HostGuards
	case v.noGuards:
		return executor.NoGuards
	}
	return executor.IsolatedGuards
}

// diffLines is how much of each content diff is shown.
const diffLines = 40

// wants tells whether content is compared at all: it costs reading it.
func (v *viewFlags) wants(s *printer) bool {
	return !v.noDiff && (v.diff || s.json || s.verbose || s.app.Terminal.Out)
}

func (v *viewFlags) options(s *printer) render.PlanOptions {
	o := render.PlanOptions{Verbose: s.verbose, Grouped: s.app.Terminal.Out && !v.full}
	if v.wants(s) {
		o.DiffLines = diffLines
		if s.verbose {
			o.DiffLines = -1
		}
	}
	return o
}

type planFlags struct {
	viewFlags
	many     manyFlags
	out      string
	noRepair bool
}

func newPlan(s *session) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show the changes that apply would make",
		Long: `Compares the desired step list with the applied state and with the host, and
shows what apply would do. Nothing is changed.

Each line begins with a sign:
  +  create    does not exist yet
  ~  update    a different object exists, or an older version by fettle
  !  repair    changed by others since it was applied; with --no-repair, and for
               objects that only report drift, it is shown and not repaired
  <  restore   rollback: the state after an earlier run
  -  remove    no longer desired: back to the state before fettle
  -  purge     a package with its data, or an undeclared path
  >  run       a program, or an action that a change notifies
  ?  check     a verification, after the run
  =  adopt     already in sync: recorded, nothing runs
  R  reboot    a restart of the host
  @  wait for  a condition during the run
  .  forget    no longer desired and never changed by fettle: left as it is
  x  blocked   cannot be undone now (e.g. a file became a link): left as it is
  *  later     known only during the run: (known after apply)

A plan can be saved. "fettle apply FILE" then does exactly what the plan shows.
If the host has changed since, it exits with 5. If a list changes one object
twice, it has phases (see docs/steps.md). The saved plan contains all phases,
and apply exits with 5 before a phase that needs other changes than those. The
file contains all content that the plan needs, secret content too. Only its
owner can read it. With a selection of targets, -o creates a new directory, with
a file for each target.

The guards of exec states (unless, only_if) run isolated: they have no network,
and their writes are discarded. Isolation needs root. Without it, the result of
a guard is unknown before apply. --run-guards runs guards on the host;
--no-guards runs none.

On a terminal, a plan of more than 50 changes is grouped by module and kind.
--full lists each change. A plan that is longer than the screen opens in a
pager: $FETTLE_PAGER, $PAGER or less. FETTLE_PAGER=cat turns the pager off.

If apply would be armed, because it may lock you out, the plan shows it.

Exits with 2 if there are changes, so do not join plan and apply with &&.`,
		Example: "  fettle plan\n  fettle plan --rev main -t web1\n  fettle plan --no-guards\n\n  sudo fettle plan -o monday.plan\n  sudo fettle apply monday.plan\n\n  fettle plan -t role:web -o monday\n  fettle apply monday",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return runPlan(s, c, f) },
	}
	f.flags(c)
	f.many.flags(c)
	s.adoptFlag(c)
	outputFlag(c, &f.out, "save the plan to a `FILE`, or the plans of many targets to a new directory")
	c.Flags().BoolVar(&f.noRepair, "no-repair", false, "report drift instead of repairing it")
	return c
}

func runPlan(s *session, c *cobra.Command, f planFlags) error {
	ctx := c.Context()
	if s.isMany() {
		return planMany(s, c, f)
	}
	req, closing, err := s.wanted(ctx, true)
	if err != nil {
		return err
	}
	defer closing()
	req.Repair, req.Diffs, req.Verify = repairs(c, f.noRepair, req.Policy), f.wants(s.printer), f.verify
	req.Guards = f.guards()
	return withPaged(ctx, s, func(x executor.Executor) error { return showPlan(ctx, s, x, req, f) })
}

// tellNotes shows which parts of the state directory were lost or damaged and rebuilt.
func tellNotes(s *printer, p *plan.Plan) {
	if p == nil {
		return
	}
	for _, n := range p.Notes {
		s.errStyle().Warning(s.app.Stderr, n)
	}
}

func showPlan(ctx context.Context, s *session, x executor.Executor, req executor.Request, f planFlags) error {
	p, err := x.Plan(ctx, req)
	tellNotes(s.printer, p)
	if err != nil {
		if p != nil && len(p.Changes) > 0 && !s.json {
			s.style().Plan(s.app.Stdout, p, f.options(s.printer)) // everything that could be planned
		}
		return err
	}
	if f.out != "" {
		if err := savable(p); err != nil {
			return err
		}
		if err := savePlan(f.out, savedPlan{Version: s.app.Version, Far: s.remote != nil}, req, p); err != nil {
			return err
		}
	}
	o, err := lockOut(s, runFlags{}, executor.Options{}, req.Policy)
	if err != nil {
		return err
	}
	armed := armingOf(p, o)
	if s.json {
		doc := planJSON("fettle.plan/1", p)
		doc.Armed = armed
		err = s.document(doc)
	} else {
		s.style().Plan(s.app.Stdout, p, f.options(s.printer))
		if armed != nil {
			s.printf("\n%s\n", armed.text("Apply will be armed: it", o.ChecksConfirm))
		}
		if f.out != "" {
			s.printf("\nSaved. To apply exactly this plan: fettle apply %s\n", f.out)
		}
	}
	if err != nil {
		return err
	}
	return changesIn(p)
}

// savable refuses a plan whose effect is not known yet.
func savable(p *plan.Plan) error {
	for _, l := range p.Later {
		if l.Action != "" {
			continue
		}
		what := l.State
		if what == "" {
			what = "a later phase"
		}
		return refuse("Apply it without a saved plan: fettle apply\nOr save the plan of the rest afterwards: fettle apply, then fettle plan -o FILE",
			fmt.Sprintf("cannot save the plan: the changes of %s are known only after apply (%s), so they cannot be reviewed",
				what, l.Why))
	}
	return nil
}

// changesIn is errChanges for a plan that would change something, or that
// reports drift.
func changesIn(p *plan.Plan) error {
	if !p.Empty() || p.Count()[plan.Drift] > 0 || len(p.Later) > 0 {
		return errChanges
	}
	return nil
}

// refuseFrozen ends a command that would change a frozen machine, before
// anything is planned.
func refuseFrozen(s *printer, st executor.Condition) error {
	if st.Frozen == nil {
		return nil
	}
	why := ""
	if st.Frozen.Why != "" {
		why = ": " + st.Frozen.Why
	}
	text := fmt.Sprintf("this host was frozen by %s at %s%s", st.Frozen.By, s.moment(st.Frozen.At), why)
	return withHint(fmt.Errorf("%w: %s", executor.ErrFrozen, text),
		"See what would change: fettle plan\nAllow changes again: fettle unfreeze")
}
