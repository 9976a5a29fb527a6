package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Requests are the requests of agents.
type Requests interface {
	// DecideRequest returns a Refusal for a request that does not exist.
	DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind, name string,
		refuse bool, reason string) error
}

// HandleRequests registers the handlers of decisions about requests of agents.
func HandleRequests(t *Table, b Requests) {
	Handle(t, route.ApproveRequest(),
		func(ctx context.Context, c Caller, at route.TargetRequest, r document.RequestDecision) (document.Done, error) {
			return t.on(ctx, c, at.Target, "The request of %s is approved.", func(d document.Target) error {
				return b.DecideRequest(ctx, c.Principal, d.ID, fleet.RequestKind(at.Request), r.Name, false, r.Reason)
			})
		})
	Handle(t, route.RejectRequest(),
		func(ctx context.Context, c Caller, at route.TargetRequest, r document.RequestDecision) (document.Done, error) {
			return t.on(ctx, c, at.Target, "The request of %s is rejected.", func(d document.Target) error {
				return b.DecideRequest(ctx, c.Principal, d.ID, fleet.RequestKind(at.Request), r.Name, true, r.Reason)
			})
		})
}
