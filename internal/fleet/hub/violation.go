package hub

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
)

// violationEvery is the shortest time between two events about protocol errors of a target.
const violationEvery = time.Hour

// violations returns a function that reports an agent that violates the protocol or floods its hub.
// It creates at most one event per target and hour.
func violations(now func() time.Time, event func(fleet.HubEvent)) func(id fleet.TargetID, why string) {
	pace := &limits.TargetLimiter{Every: rate.Every(violationEvery), Burst: 1}
	return func(id fleet.TargetID, why string) {
		if ok, _ := pace.Take(id, now()); ok {
			event(fleet.HubEvent{Kind: fleet.ProtocolViolated, Target: id,
				Text:  "violates the protocol or floods the hub",
				Error: why + "; reported at most once in " + violationEvery.String()})
		}
	}
}

// recordViolation records an event in the background, because its caller must not wait.
func (c *core) recordViolation(e fleet.HubEvent) {
	c.retryQueue.Add(c.ctx, limits.RetryTask{
		Key: "violation/" + string(e.Target),
		Do:  func(ctx context.Context) error { return c.events.Record(ctx, e) },
	})
}
