package waits

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
	"fettle.dev/fettle/internal/fleet/hub/events"
)

// recordBarrier records the changes of a barrier in the log of the fleet. A renewal is not an event.
func recordBarrier(ctx context.Context, to events.Recorder, s barrier.State, a barrier.Answer, _ order) {
	for _, c := range a.Changes {
		e := fleet.HubEvent{Kind: fleet.BarrierChanged}
		if id, err := fleet.ParseTargetID(c.Target); err == nil {
			e.Target = id
		}
		switch c.Kind {
		case barrier.Defined:
			e.Text = fmt.Sprintf("declared with %d members and the quorum %s", len(s.Targets), s.Quorum)
		case barrier.Removed:
			e.Text = "no longer declared"
		case barrier.Arrived:
			e.Text = "arrived"
		case barrier.Withdrawn:
			e.Text = "no longer waits"
		case barrier.Expired:
			e.Text = "the arrival ended, because it was not renewed or the target is no longer a member"
		case barrier.Opened:
			e.Text = fmt.Sprintf("generation %d opened with %d arrivals", s.Generation, c.Count)
		default:
			continue
		}
		e.Text = "barrier " + s.Name + ": " + e.Text
		to.Note(context.WithoutCancel(ctx), e)
	}
}

// recordSignal records the changes of a signal in the log of the fleet.
func recordSignal(ctx context.Context, to events.Recorder, s signal.State, a signal.Answer, by order) {
	for _, c := range a.Changes {
		e := fleet.HubEvent{Kind: fleet.SignalChanged, By: by.by}
		switch c.Kind {
		case signal.Defined:
			e.Text = "declared; kept for " + duration.Text(s.Keep)
		case signal.Removed:
			e.Text = "no longer declared"
		case signal.New, signal.Repeated:
			e.Text = string(c.Kind)
			last := s.Sent[len(s.Sent)-1]
			if id, err := fleet.ParseTargetID(last.Sender); err == nil && !last.User {
				e.Target = id
			}
		case signal.Cleared:
			e.Text = fmt.Sprintf("%d sent signals were removed: %s", c.Count, by.why)
		default:
			continue
		}
		e.Text = "signal " + s.Name + ": " + e.Text
		to.Note(context.WithoutCancel(ctx), e)
	}
}

// order is the user that caused a change, and the reason; "" means another cause.
type order struct{ by, why string }
