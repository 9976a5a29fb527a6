package api

import (
	"context"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Exemptions are requests for exemptions of targets from their windows.
type Exemptions interface {
	// RequestExemption stores a request for targets; none means all. It returns its ID.
	RequestExemption(ctx context.Context, by access.Principal, r document.ExemptionRequest,
		targets []fleet.TargetID) (id string, err error)
}

// HandleExemptions registers the handler of requests for exemptions.
func HandleExemptions(t *Table, b Exemptions) {
	HandlePost(t, route.RequestExemption(),
		func(ctx context.Context, c Caller, r document.ExemptionRequest) (document.Done, error) {
			return t.requestExemption(ctx, c, r, b)
		})
}

// requestExemption stores a request. A selection without targets is an error and does not mean all targets.
func (t *Table) requestExemption(ctx context.Context, c Caller, r document.ExemptionRequest,
	b Exemptions) (document.Done, error) {
	switch {
	case r.Reason == "":
		return document.Done{}, &Refusal{http.StatusBadRequest, "cannot request an exemption without a reason",
			"Give a reason for the users who approve it: --reason WHY"}
	case r.Seconds < 1 || r.Seconds > assign.MaxExemption:
		return document.Done{}, &Refusal{http.StatusBadRequest, "cannot request an exemption for this time",
			"Use a time up to a day: --expires 2h"}
	}
	var ids []fleet.TargetID
	if len(r.Select) > 0 {
		var err error
		if ids, err = t.active(ctx, c, r.Select, "exempt"); err != nil {
			return document.Done{}, err
		}
	}
	id, err := b.RequestExemption(ctx, c.Principal, r, ids)
	return Done(err, "The exemption %s needs the approval of %d users: fettle exemption approve %[1]s", id,
		assign.ExemptionApprovals)
}
