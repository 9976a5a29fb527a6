package apitest

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Exemptions is one exemption, e1.
type Exemptions struct{}

// Exemptions implements api.Exemptions.
func (Exemptions) Exemptions(context.Context) ([]document.Exemption, error) {
	return []document.Exemption{{ID: "e1", State: "waiting", Until: 1795086400, Select: []string{"web1"}, Targets: 1,
		By: "jane", Reason: "security fix", At: 1795000000, Seconds: 3600, Need: 2,
		Approvals: []document.Consent{{By: "ann", At: 1795000060}}}}, nil
}

// RequestExemption implements api.Exemptions.
func (Exemptions) RequestExemption(context.Context, access.Principal, document.ExemptionRequest,
	[]fleet.TargetID) (string, error) {
	return "e1", nil
}

// ApproveExemption implements api.Exemptions.
func (Exemptions) ApproveExemption(_ context.Context, _ access.Principal, id string,
	_ document.ReasonRequest) (string, error) {
	return id + " is approved.", nil
}

// EndExemption implements api.Exemptions.
func (Exemptions) EndExemption(_ context.Context, _ access.Principal, id string,
	_ document.ReasonRequest) (string, error) {
	return id + " has ended.", nil
}
