package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
)

// leadOn leads as long as the hub holds the lease. After an error it starts again.
func (l *Leader) leadOn(ctx context.Context, fence uint64) {
	if err := l.Events.Record(ctx, fleet.HubEvent{Kind: fleet.LeaderChanged,
		Text: fmt.Sprintf("%s leads, number %d", l.Hub, fence)}); err != nil {
		l.Warn(err.Error())
	}
	for ctx.Err() == nil {
		if err := l.lead(ctx, fence); err != nil && ctx.Err() == nil {
			l.Warn("cannot lead: " + err.Error())
			if errors.Is(err, errStuck) {
				return // the caller then releases the lease
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// Stand leads whenever this hub gets the lease, until ctx ends or the hub is retired. After it gave up
// the lease because it was stuck, it pauses so that another hub can lead.
func (l *Leader) Stand(ctx context.Context) error {
	may, stop := l.UnlessDismissed(ctx)
	defer stop()
	for {
		err := bus.Lead(may, l.Records.Buckets["leases"], bus.LeaseConfig{Key: "leader", Holder: l.Hub}, l.leadOn)
		switch {
		case ctx.Err() != nil:
			return err
		case may.Err() != nil:
			return nil // retired: another hub leads
		case err != nil:
			return err
		}
		select {
		case <-may.Done():
		case <-time.After(standAsideFor):
		}
	}
}
