package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
)

func newWatch(s *session) *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use:    here.WatchCommand,
		Short:  "Undo a run that is not confirmed in time",
		Hidden: true,
		Args:   args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return withExecutor(c.Context(), s, func(x executor.Executor) error {
				return here.Watch(c.Context(), x, s.runOptions(), time.Unix(0, from), s.app.Now)
			})
		},
	}
	c.Flags().Int64Var(&from, "from", 0, "when to look first, in nanoseconds since 1970")
	return c
}

func sleepUntil(ctx context.Context, s *printer, t time.Time) error {
	timer := time.NewTimer(t.Sub(s.app.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
