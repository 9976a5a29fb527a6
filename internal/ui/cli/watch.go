package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
)

// WatchCommand is the hidden command that takes back a run which nobody
// confirmed. apply starts it in the background before anything changes.
const WatchCommand = "watch-confirmation"

// watchPause is how long a held lock is given before the next try.
const watchPause = time.Second

func newWatch(s *session) *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use:    WatchCommand,
		Short:  "Take back a run that is not confirmed in time",
		Hidden: true,
		Args:   args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withExecutor(c.Context(), func(x executor.Executor) error {
				return s.watch(c.Context(), x, time.Unix(0, from))
			})
		},
	}
	c.Flags().Int64Var(&from, "from", 0, "when to look first, in nanoseconds since 1970")
	return c
}

// watch waits for the deadline, which moves while the run goes on, and then
// settles what is still armed. It ends when nothing is.
func (s *session) watch(ctx context.Context, x executor.Executor, next time.Time) error {
	for {
		if err := s.sleepUntil(ctx, next); err != nil {
			return err
		}
		st, err := x.Condition(ctx)
		if err != nil {
			return err
		}
		if st.Armed == nil {
			return nil
		}
		if next = time.Unix(0, st.Armed.Deadline); next.After(s.app.Now()) {
			continue
		}
		_, err = x.Recover(ctx, s.runOptions(), func(executor.Event) {})
		if err != nil && !errors.Is(err, executor.ErrLocked) {
			return fmt.Errorf("cannot take back run %d, which was not confirmed: %w", st.Armed.Run, err)
		}
		next = s.app.Now().Add(watchPause)
	}
}

func (s *session) sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(t.Sub(s.app.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
