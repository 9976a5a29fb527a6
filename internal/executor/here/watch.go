package here

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
)

// WatchCommand is the hidden command of a program that takes back a run which nobody
// confirmed. A run that is armed starts it in the background before anything changes.
const WatchCommand = "watch-confirmation"

// watchPause is how long a held lock is given before the next try.
const watchPause = time.Second

// Watch waits for the deadline of an armed run, which moves while the run goes on, and
// then takes it back. It looks first at the moment next, and ends when no run is armed.
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
			return fmt.Errorf("cannot take back run %d, which was not confirmed: %w", st.Armed.Run, err)
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
