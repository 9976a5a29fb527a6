package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofFreezes() []Row {
	return []Row{FreezeTarget().Row, UnfreezeTarget().Row, FreezeAll().Row, UnfreezeAll().Row}
}

// FreezeTarget freezes a target: nothing changes on it until UnfreezeTarget.
func FreezeTarget() (r Route[TargetName, document.FreezeRequest, document.Done]) {
	return r.post(access.Operate, "/v1/targets/{target}/freeze", "Freeze a target").perTarget()
}

// UnfreezeTarget undoes FreezeTarget. A freeze of all targets remains.
func UnfreezeTarget() (r Route[TargetName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/targets/{target}/unfreeze", "Unfreeze a target").perTarget()
}

// FreezeAll freezes all targets, also targets that join later.
func FreezeAll() (r Route[None, document.FreezeRequest, document.Done]) {
	return r.post(access.Operate, "/v1/freeze", "Freeze all targets, including targets that join later")
}

// UnfreezeAll undoes FreezeAll.
func UnfreezeAll() (r Route[None, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/unfreeze",
		"End the freeze of all targets; freezes of single targets remain")
}
