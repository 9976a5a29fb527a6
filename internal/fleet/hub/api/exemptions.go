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

// Exemptions are exemptions of targets from their windows.
type Exemptions interface {
	// Exemptions returns all stored exemptions, the newest first.
	Exemptions(ctx context.Context) ([]document.Exemption, error)
	// RequestExemption stores a request for targets; none means all. It returns its ID.
	RequestExemption(ctx context.Context, by access.Principal, r document.ExemptionRequest,
		targets []fleet.TargetID) (id string, err error)
}

// ExemptionDecisions are decisions of users about an exemption. They return the answer for the user.
type ExemptionDecisions interface {
	ApproveExemption(ctx context.Context, by access.Principal, id string, r document.ReasonRequest) (string, error)
	EndExemption(ctx context.Context, by access.Principal, id string, r document.ReasonRequest) (string, error)
}

// HandleExemptions registers the handlers of exemptions.
func HandleExemptions(t *Table, b interface {
	Exemptions
	ExemptionDecisions
}) {
	handleGet(t, route.Exemptions(), func(ctx context.Context) (document.ExemptionPage, error) {
		all, err := b.Exemptions(ctx)
		return document.ExemptionPage{Format: document.ExemptionPageFormat,
			Exemptions: append([]document.Exemption{}, all...)}, err
	})
	handlePost(t, route.RequestExemption(),
		func(ctx context.Context, c Caller, r document.ExemptionRequest) (document.Done, error) {
			return t.requestExemption(ctx, c, r, b)
		})
	Handle(t, route.ApproveExemption(),
		func(ctx context.Context, c Caller, at route.ExemptionID, r document.ReasonRequest) (document.Done, error) {
			text, err := b.ApproveExemption(ctx, c.Principal, at.Exemption, r)
			return done(err, "%s", text)
		})
	Handle(t, route.EndExemption(),
		func(ctx context.Context, c Caller, at route.ExemptionID, r document.ReasonRequest) (document.Done, error) {
			text, err := b.EndExemption(ctx, c.Principal, at.Exemption, r)
			return done(err, "%s", text)
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
	return done(err, "The exemption %s needs the approval of %d users: fettle exemption approve %[1]s", id,
		assign.ExemptionApprovals)
}
