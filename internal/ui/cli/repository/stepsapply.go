package repository

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
)

func newStepsPlan(s *cli.Session) *cobra.Command {
	var f hostcmd.PlanFlags
	c := &cobra.Command{
		Use:     "plan FILE",
		Short:   "Show the changes that a step file would make",
		Example: "  fettle steps plan web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return withSteps(s, a[0], func(req executor.Request) error {
				req.Repair, req.Diffs, req.Verify = !f.NoRepair, f.Wants(s.Printer), f.Verify
				req.Guards = f.Guards()
				return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error {
					return hostcmd.ShowPlan(c.Context(), s,
						x, req, f)
				})
			})
		},
	}
	f.Flags(c)
	s.AdoptFlag(c)
	cli.OutputFlag(c, &f.Out, "save the plan to a `FILE`")
	c.Flags().BoolVar(&f.NoRepair, "no-repair", false, "report drift instead of repairing it")
	return c
}

func newStepsApply(s *cli.Session) *cobra.Command {
	var f hostcmd.RunFlags
	var cross bool
	c := &cobra.Command{
		Use:     "apply FILE",
		Short:   "Apply a step file",
		Long:    "Puts the host in the state that a step file describes. Steps of the previous\nlist that are not in this list are undone. In all other respects it works\nlike fettle apply.",
		Example: "  sudo fettle steps apply web1.steps",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			o, err := f.Options(s)
			if err != nil {
				return err
			}
			return withSteps(s, a[0], func(req executor.Request) error {
				req.Diffs, req.Verify, o.CrossIrreversible = f.Wants(s.Printer), f.Verify, cross
				return hostcmd.ApplyRequest(c.Context(), s, req, "", f, o)
			})
		},
	}
	f.Flags(c)
	f.Arms(c)
	s.AdoptFlag(c)
	s.FrozenFlag(c)
	s.LocksFlag(c)
	cli.CrossIrreversibleFlag(c, &cross, "allow changes that cannot be undone, such as a purge of a package")
	return c
}
