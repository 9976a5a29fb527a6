package bus

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Several calls with one context wait together as long as one call may. An answer does not count,
// and later calls have a new limit.
func TestSilence(t *testing.T) {
	silent := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	answers := func(context.Context) error { time.Sleep(time.Second); return nil }
	synctest.Test(t, func(t *testing.T) {
		ctx := WithSilence(t.Context(), 4*time.Second)
		began := time.Now()
		for range 3 {
			if err := insist(ctx, nil, silent); !errors.Is(err, fleet.ErrNoAnswer) {
				t.Errorf("%v instead of %v", err, fleet.ErrNoAnswer)
			}
		}
		if d := time.Since(began); d != 4*time.Second {
			t.Errorf("three calls waited %s together", d)
		}
		if err := insist(ctx, nil, answers); !errors.Is(err, fleet.ErrNoAnswer) {
			t.Errorf("a call without time left: %v", err)
		}
		time.Sleep(storeTime + time.Second)
		for range 10 {
			if err := insist(ctx, nil, answers); err != nil {
				t.Errorf("calls that are answered: %v", err)
			}
		}
	})
}
