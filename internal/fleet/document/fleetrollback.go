package document

// FleetRollbackPageFormat is the format of a FleetRollbackPage.
const FleetRollbackPageFormat = "fettle.fleet.rollbacks/1"

// FleetRollbackRequest returns the fleet to earlier content.
type FleetRollbackRequest struct {
	// Part is a module, with or without "modules/", "top" for the root bundle, or "all".
	Part string `json:"part"`
	// To is the full hash of a commit, or "stable" for the content of the last completed rollout.
	To     string `json:"to"`
	Reason string `json:"reason,omitempty"`
	// Permit is the signed permit for the commit, for targets that accept only signed commits.
	Permit string `json:"permit,omitempty"`
}

// FleetReleaseRequest ends the rollback of a part.
type FleetReleaseRequest struct {
	Part   string `json:"part"` // see FleetRollbackRequest; "all" ends all rollbacks
	Reason string `json:"reason,omitempty"`
}

// FleetRollback is a rollback of the fleet. It has an effect as long as the head of the branch has the held content.
type FleetRollback struct {
	Part   string `json:"part"`
	Held   string `json:"held"`   // the commit whose content is held
	Commit string `json:"commit"` // the commit whose content targets have instead
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"` // seconds since 1970
	// State is the text of the held content, or the reason why nothing is held.
	State string `json:"state"`
}

// FleetRollbackPage lists the rollbacks of the fleet, sorted by part.
type FleetRollbackPage struct {
	Format    string          `json:"format"`
	Rollbacks []FleetRollback `json:"rollbacks"`
}
