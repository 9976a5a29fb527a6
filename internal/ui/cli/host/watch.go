package host

import (
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewWatch builds the command watch-confirmation, to undo a run that is not confirmed in time.
func NewWatch(s *cli.Session) *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use:    here.WatchCommand,
		Short:  "Undo a run that is not confirmed in time",
		Hidden: true,
		Args:   cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error {
				return here.Watch(c.Context(), x, s.RunOptions(), time.Unix(0, from), s.App.Now)
			})
		},
	}
	c.Flags().Int64Var(&from, "from", 0, "when to look first, in nanoseconds since 1970")
	return c
}
