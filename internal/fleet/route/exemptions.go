package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// ExemptionID names an exemption.
type ExemptionID struct {
	Exemption string `path:"exemption"`
}

func ofExemptions() []Row {
	return []Row{Exemptions().Row, RequestExemption().Row, ApproveExemption().Row, EndExemption().Row}
}

// Exemptions lists exemptions from windows.
func Exemptions() (r Route[None, None, document.ExemptionPage]) {
	return r.get(access.Read, "/v1/exemptions", "List exemptions of targets from their windows")
}

// RequestExemption requests that targets may change outside of their windows.
func RequestExemption() (r Route[None, document.ExemptionRequest, document.Done]) {
	return r.post(access.Operate, "/v1/exemptions", "Request that targets may change outside of their windows")
}

// ApproveExemption adds the approval of a user.
func ApproveExemption() (r Route[ExemptionID, document.ReasonRequest, document.Done]) {
	return r.post(access.Approve, "/v1/exemptions/{exemption}/approve", "Approve an exemption")
}

// EndExemption ends an exemption, or rejects a request.
func EndExemption() (r Route[ExemptionID, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/exemptions/{exemption}/end", "End an exemption, or reject the request")
}
