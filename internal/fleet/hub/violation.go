package hub

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
)

// violationEvery is how often an event says that a target does not keep to the protocol.
const violationEvery = time.Hour

// violations gives an event for an agent that does not keep to the protocol or floods its
// hub: one per target and hour, however often that happens.
func violations(now func() time.Time, event func(fleet.HubEvent)) func(id fleet.TargetID, why string) {
	pace := &targetLimiter{every: rate.Every(violationEvery), burst: 1}
	return func(id fleet.TargetID, why string) {
		if ok, _ := pace.take(id, now()); ok {
			event(fleet.HubEvent{Kind: fleet.Violated, Target: id, Text: "violates the protocol or floods the hub", Error: why + "; reported at most once in " + violationEvery.String()})
		}
	}
}

// recordViolation has an event recorded in the background: who reports it must not wait.
func (h *Hub) recordViolation(e fleet.HubEvent) {
	h.retryQueue.add(h.ctx, retryTask{
		key: "violation/" + string(e.Target),
		do:  func(ctx context.Context) error { return h.record(ctx, e) },
	})
}
