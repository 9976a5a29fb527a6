package bus

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// A caller with its own time limit receives the error that the outcome is unknown, like a caller
// without one. A caller that gave up receives its own cancellation.
func TestInsistWithALimitOfTheCaller(t *testing.T) {
	silent := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{time.Second, storeTry + time.Second, 2 * storeTime} {
			ctx, stop := context.WithTimeout(t.Context(), limit)
			if err := insist(ctx, nil, silent); !errors.Is(err, fleet.ErrNoAnswer) {
				t.Errorf("limit %s: %v, want %v", limit, err, fleet.ErrNoAnswer)
			}
			stop()
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if err := insist(ctx, nil, silent); !errors.Is(err, context.Canceled) || errors.Is(err, fleet.ErrNoAnswer) {
			t.Errorf("cancelled: %v", err)
		}
	})
}
