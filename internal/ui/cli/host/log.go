package host

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewLog builds the command log, to list the runs, newest first.
func NewLog(s *cli.Session) *cobra.Command {
	limit, here := 0, false
	var many cli.ManyFlags
	c := &cobra.Command{
		Use:     "log [RUN]",
		Short:   "List the runs, newest first",
		Long:    "Lists the runs: user, operation, time and outcome. It also lists\nprograms of fettle run, copies and reboots, as c1, c2, … With a number it shows\nthat run, as \"fettle show\" does.\n\nWith --here it lists operations on targets from this workstation: commands, and\napply and rollback on many targets.",
		Example: "  fettle log\n  fettle log -n 0 --json\n  fettle log 12\n  fettle log --here",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if here {
				if err := cli.AllowOnly(c, "--here"); err != nil {
					return err
				}
				return cli.ShowWorkstationHistory(s.Printer, limit)
			}
			if s.IsMany() && len(a) == 0 {
				return logMany(c.Context(), s, many, limit)
			}
			return cli.WithPagedOutput(c.Context(), s, func(x executor.Executor) error {
				if len(a) == 1 {
					return showOne(s.Printer, c, x, a, false)
				}
				h, left, err := historyOf(c.Context(), x, limit)
				if err != nil {
					return err
				}
				return showLog(s.Printer, h, left)
			})
		},
	}
	many.Flags(c)
	c.Flags().BoolVar(&here, "here", false, "list the operations on targets from this workstation")
	cli.LimitOrAllFlag(c, &limit, 20, "runs")
	return c
}
