package apitest

import (
	"context"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// DecideRequest decides the request in Requests. A rejection is an event in the log.
func (h *Hub) DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind,
	_ string, refuse bool, reason string) error {
	if what != fleet.RequestSuspect {
		return &api.Refusal{Status: http.StatusNotFound, Why: "cannot find a request of this target for " + string(what),
			Hint: "List the requests: fettle request list"}
	}
	if !refuse {
		return h.Suspect(ctx, by, id, "disk errors")
	}
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.RequestReceived,
		Target: id, By: by.Name, Error: reason})
}

// Suspect marks a target as suspect.
func (h *Hub) Suspect(ctx context.Context, by access.Principal, id fleet.TargetID, because string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) {
		t.Suspect = &fleet.Suspicion{Reason: because, By: by.Name, Since: Now().Unix()}
	})
}

// Trust removes the mark.
func (h *Hub) Trust(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Suspect = nil })
}
