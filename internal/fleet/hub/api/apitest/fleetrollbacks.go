package apitest

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// FleetRollbacks is one rollback of the module web.
type FleetRollbacks struct{}

// FleetRollbacks implements api.FleetRollbacks.
func (FleetRollbacks) FleetRollbacks(context.Context) ([]document.FleetRollback, error) {
	return []document.FleetRollback{{Part: "modules/web", Held: "2222222222bb", Commit: "1111111111aa", By: "jane",
		Reason: "requests time out", At: 1795000000}}, nil
}

// RollBackFleet implements api.FleetRollbacks.
func (FleetRollbacks) RollBackFleet(_ context.Context, _ access.Principal,
	r document.FleetRollbackRequest) (string, error) {
	return "Held: " + r.Part + ", for " + r.To + ".", nil
}

// ReleaseFleet implements api.FleetRollbacks.
func (FleetRollbacks) ReleaseFleet(_ context.Context, _ access.Principal,
	r document.FleetReleaseRequest) (string, error) {
	return "Released: " + r.Part + ".", nil
}
