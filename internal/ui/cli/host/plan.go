// Package host has the commands that change a host or show its state. They work on this host, over SSH
// and through a hub alike, on one target or on several.
//
//	cli.Group{Commands: []cli.NewCommand{host.NewPlan, host.NewApply, host.NewRollback}}
package host

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/savedplan"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewPlan builds the command plan, to show the changes that apply would make.
func NewPlan(s *cli.Session) *cobra.Command {
	var f PlanFlags
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
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return runPlan(s, c, f) },
	}
	f.Flags(c)
	f.many.Flags(c)
	s.AdoptFlag(c)
	cli.OutputFlag(c, &f.Out, "save the plan to a `FILE`, or the plans of many targets to a new directory")
	c.Flags().BoolVar(&f.NoRepair, "no-repair", false, "report drift instead of repairing it")
	return c
}

func runPlan(s *cli.Session, c *cobra.Command, f PlanFlags) error {
	ctx := c.Context()
	if s.IsMany() {
		return planMany(s, c, f)
	}
	req, closing, err := s.Request(ctx, true)
	if err != nil {
		return err
	}
	defer closing()
	req.Repair, req.Diffs, req.Verify = repairs(c, f.NoRepair, req.Policy), f.Wants(s.Printer), f.Verify
	req.Guards = f.Guards()
	return cli.WithPagedOutput(ctx, s, func(x executor.Executor) error { return ShowPlan(ctx, s, x, req, f) })
}

// ShowPlan plans a request, and prints or stores the plan. It returns cli.ErrChanges if there are
// changes.
func ShowPlan(ctx context.Context, s *cli.Session, x executor.Executor, req executor.Request, f PlanFlags) error {
	p, err := x.Plan(ctx, req)
	tellNotes(s.Printer, p)
	if err != nil {
		if p != nil && len(p.Changes) > 0 && !s.JSON {
			s.Style().Plan(s.App.Stdout, p, f.options(s.Printer)) // everything that could be planned
		}
		return err
	}
	if f.Out != "" {
		if err := savedplan.Savable(p); err != nil {
			return err
		}
		if err := savedplan.Write(f.Out, savedplan.Origin{Version: s.App.Version, Far: s.Remote != nil}, req, p); err != nil {
			return err
		}
	}
	o, err := lockOut(s, RunFlags{}, executor.Options{}, req.Policy)
	if err != nil {
		return err
	}
	armed := armingOf(p, o)
	if s.JSON {
		doc := rundoc.PlanOf(rundoc.PlanFormat, p)
		doc.Armed = (*rundoc.Arming)(armed)
		err = s.Document(doc)
	} else {
		s.Style().Plan(s.App.Stdout, p, f.options(s.Printer))
		if armed != nil {
			s.Printf("\n%s\n", armed.text("Apply will be armed: it", o.ChecksConfirm))
		}
		if f.Out != "" {
			s.Printf("\nSaved. To apply exactly this plan: fettle apply %s\n", f.Out)
		}
	}
	if err != nil {
		return err
	}
	return changesIn(p)
}

func planMany(s *cli.Session, c *cobra.Command, f PlanFlags) error {
	if f.Out != "" {
		return planAndSave(s, c, f)
	}
	_, err := planEach(s, c, f, func(bool, executor.Request, *plan.Plan) error { return nil })
	return err
}
