package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// TargetName names a target, by ID or name.
type TargetName struct {
	Target string `path:"target"`
}

// TargetQuery selects targets. The zero value selects all targets in the fleet.
type TargetQuery struct {
	Select []string `query:"select" does:"a selection, as for -t"`
	All    bool     `query:"all" does:"true: include retired and revoked targets"`
	Sort   string   `query:"sort" does:"name, state, contact, drift, behind or changed; a - before the name reverses the order"`
	Offset int      `query:"offset" does:"skip this number of items"`
	Limit  int      `query:"limit" does:"return at most this number of items"`
	After  string   `query:"after" does:"after this cursor, which a page has; use the same sort"`
	State  string   `query:"state" does:"only targets in this state"`
	// Supervisor is a target whose guests run the selected targets.
	Supervisor string `query:"supervisor" does:"only targets that run in guests of this target, by identity or name"`
	By         string `query:"by" does:"add counts: all, or in groups by fleet, module, scope or label:NAME"`
}

// TargetModule names a module on a target.
type TargetModule struct {
	Target string `path:"target"`
	Module string `path:"module"`
}

func ofTargets() []Row {
	return []Row{Targets().Row, Target().Row, Explain().Row, ApproveTarget().Row, LabelTarget().Row,
		RetireTarget().Row, RevokeTarget().Row, PinTarget().Row, UnpinTarget().Row, SuspectTarget().Row,
		TrustTarget().Row, MoveTarget().Row}
}

// Targets returns a page of targets.
func Targets() (r Route[TargetQuery, None, document.TargetPage]) {
	return r.get(access.Read, "/v1/targets", "List targets").perTarget()
}

// Target returns one target with its modules.
func Target() (r Route[TargetName, None, document.TargetDetail]) {
	return r.get(access.Read, "/v1/targets/{target}", "Show one target, by identity or name").perTarget()
}

// Explain returns the reasons for the state of a module on a target.
func Explain() (r Route[TargetModule, None, document.Explanation]) {
	return r.get(access.Read, "/v1/targets/{target}/modules/{module}",
		"Explain the state of a module on a target; write a / in its name as %2F").perTarget()
}

// ApproveTarget makes a pending target active.
func ApproveTarget() (r Route[TargetName, document.ReasonRequest, document.Done]) {
	return r.post(access.Approve, "/v1/targets/{target}/approve", "Admit a pending target")
}

// LabelTarget sets and removes labels.
func LabelTarget() (r Route[TargetName, document.LabelRequest, document.Done]) {
	return r.post(access.Admin, "/v1/targets/{target}/label", "Set and remove labels, which grant access")
}

// MoveTarget moves a target to another organization.
func MoveTarget() (r Route[TargetName, document.MoveRequest, document.Done]) {
	return r.post(access.Admin, "/v1/targets/{target}/move", "Move a target to another organization")
}

// RetireTarget removes a target from the fleet. Its host remains as it is.
func RetireTarget() (r Route[TargetName, document.ReasonRequest, document.Done]) {
	return r.post(access.Admin, "/v1/targets/{target}/retire", "Retire a target")
}

// RevokeTarget ends the trust in a target.
func RevokeTarget() (r Route[TargetName, document.ReasonRequest, document.Done]) {
	return r.post(access.Admin, "/v1/targets/{target}/revoke", "Revoke the certificates of a target, immediately")
}

// PinTarget pins a target to a revision.
func PinTarget() (r Route[TargetName, document.PinRequest, document.Done]) {
	return r.post(access.Operate, "/v1/targets/{target}/pin",
		"Pin a target, or one of its modules, to a branch, tag or commit").perTarget()
}

// UnpinTarget undoes PinTarget, for the whole target or for one module.
func UnpinTarget() (r Route[TargetName, document.UnpinRequest, document.Done]) {
	return r.post(access.Operate, "/v1/targets/{target}/unpin", "Remove the pin of a target").perTarget()
}

// SuspectTarget marks a target as not reliable.
func SuspectTarget() (r Route[TargetName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/targets/{target}/suspect", "Mark a target as suspect").perTarget()
}

// TrustTarget undoes SuspectTarget.
func TrustTarget() (r Route[TargetName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/targets/{target}/trust", "Remove the suspect mark of a target").perTarget()
}
