package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofFleetRollbacks() []Row {
	return []Row{FleetRollbacks().Row, RollBackFleet().Row, ReleaseFleet().Row}
}

// FleetRollbacks lists the content that operators hold on all targets.
func FleetRollbacks() (r Route[None, None, document.FleetRollbackPage]) {
	return r.get(access.Read, "/v1/rollbacks", "List the rollbacks of the fleet that were not released")
}

// RollBackFleet returns a part of all assignments to earlier content.
func RollBackFleet() (r Route[None, document.FleetRollbackRequest, document.Done]) {
	return r.post(access.Operate, "/v1/rollbacks",
		"Return a module, the root bundle or both to earlier content on all targets that follow the branch")
}

// ReleaseFleet permits the content of the branch again.
func ReleaseFleet() (r Route[None, document.FleetReleaseRequest, document.Done]) {
	return r.post(access.Operate, "/v1/rollbacks/release", "Permit content that is held since a rollback of the fleet")
}
