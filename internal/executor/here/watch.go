package here

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
)

// WatchCommand is the hidden command that reverts an unconfirmed run. Arming a run starts
// this command in the background before the first change.
const WatchCommand = "watch-confirmation"

// watchPause is how long a held lock is given before the next try.
const watchPause = time.Second

// Watch waits for the deadline of an armed run and then reverts the run. The deadline
// moves while the run is active, so Watch rereads it, first at the time next. Watch
// returns when no run is armed.
func Watch(ctx context.Context, x executor.Executor, o executor.Options, next time.Time, now func() time.Time) error {
	for {
		if err := sleep(ctx, next.Sub(now())); err != nil {
			return err
		}
		st, err := x.Condition(ctx)
		if err != nil {
			return err
		}
		if st.Armed == nil {
			return nil
		}
		if next = time.Unix(0, st.Armed.Deadline); next.After(now()) {
			continue
		}
		_, err = x.Recover(ctx, o, func(executor.Event) {})
		if err != nil && !errors.Is(err, executor.ErrLocked) {
			return fmt.Errorf("cannot undo run %d, which was not confirmed: %w", st.Armed.Run, err)
		}
		next = now().Add(watchPause)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
