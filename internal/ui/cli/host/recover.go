package host

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewRecover builds the command recover, to recover a run that crashed.
func NewRecover(s *cli.Session) *cobra.Command {
	onCrash := cli.Choice{Value: "undo", Of: []string{"undo", "finish"}}
	c := &cobra.Command{
		Use:   "recover",
		Short: "Recover a run that crashed",
		Long: `Finishes or undoes a run that a crash, a kill or a power cut ended. Also undoes
a run that was not confirmed in time. Every apply and rollback first does this
by itself; use recover in a timer at boot, or to be sure. If there is nothing to
recover, it does nothing.`,
		Example: "  sudo fettle recover\n  sudo fettle recover --on-crash finish",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			o := s.RunOptions()
			if c.Flags().Changed("on-crash") {
				o.OnCrash = onCrash.Value
			}
			return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error { return recoverHost(s, c, x, o) })
		},
	}
	c.Flags().Var(&onCrash, "on-crash", "undo the run, or finish it; without this flag, the setting of the run applies")
	c.Flags().Lookup("on-crash").DefValue = "" // help shows no default
	return c
}

func recoverHost(s *cli.Session, c *cobra.Command, x executor.Executor, o executor.Options) error {
	settled := false
	err := execute(s, nil, "Finished", func(show func(executor.Event)) (*executor.Report, error) {
		rep, err := x.Recover(c.Context(), o, show)
		settled = rep != nil
		return rep, err
	})
	// The purpose of recover is also to undo a run. Then the machine has its earlier state, and the
	// command has not failed.
	if settled && cli.ExitCode(err) == cli.ExitRolledBack {
		return nil
	}
	if err == nil && !settled {
		return s.Done("recover", 0, "Nothing to recover: the last run has ended.")
	}
	return err
}
