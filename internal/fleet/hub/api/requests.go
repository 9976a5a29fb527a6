package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Requests are the requests of agents.
type Requests interface {
	// Requests returns the undecided requests of agents, the oldest first. DecideRequest returns a
	// Refusal for a request that does not exist.
	Requests(ctx context.Context) ([]document.Request, error)
	DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind, name string,
		refuse bool, reason string) error
}

// RequestPolicies are the policy that decides requests. It is the same at all hubs.
type RequestPolicies interface {
	RequestPolicy(ctx context.Context) (fleet.RequestPolicy, error)
	// SetRequestPolicy returns a Refusal for an invalid change.
	SetRequestPolicy(ctx context.Context, by access.Principal, r document.RequestPolicyChange) error
}

// HandleRequests registers the handlers of requests of agents.
func HandleRequests(t *Table, b Requests) {
	handleGet(t, route.Requests(), func(ctx context.Context) (document.RequestPage, error) {
		all, err := b.Requests(ctx)
		return document.RequestPage{Format: document.RequestPageFormat,
			Requests: append([]document.Request{}, all...)}, err
	})
	Handle(t, route.ApproveRequest(),
		func(ctx context.Context, c Caller, at route.TargetRequest, r document.RequestDecision) (document.Done, error) {
			return t.on(ctx, c, at.Target, "The request of %s is approved.", func(d document.Target) error {
				return b.DecideRequest(ctx, c.Principal, d.ID, fleet.RequestKind(at.Request), r.Name, false, r.Reason)
			})
		})
	Handle(t, route.RejectRequest(),
		func(ctx context.Context, c Caller, at route.TargetRequest, r document.RequestDecision) (document.Done, error) {
			return t.on(ctx, c, at.Target, "The request of %s is rejected.", func(d document.Target) error {
				return b.DecideRequest(ctx, c.Principal, d.ID, fleet.RequestKind(at.Request), r.Name, true, r.Reason)
			})
		})
}

// HandleRequestPolicy registers the handlers of the policy for requests.
func HandleRequestPolicy(t *Table, b RequestPolicies) {
	handleGet(t, route.RequestPolicy(), func(ctx context.Context) (document.RequestPolicy, error) {
		p, err := b.RequestPolicy(ctx)
		d := document.RequestPolicy{Format: document.RequestPolicyFormat, Answers: map[fleet.RequestKind]fleet.Verdict{},
			By: p.By, Changed: p.Changed}
		for _, what := range []fleet.RequestKind{fleet.RequestFreeze, fleet.RequestSuspect} {
			d.Answers[what] = p.Of(what)
		}
		d.Certificates = append([]fleet.CertificateRule{}, p.Certificates...)
		return d, err
	})
	handlePost(t, route.SetRequestPolicy(),
		func(ctx context.Context, c Caller, r document.RequestPolicyChange) (document.Done, error) {
			return done(b.SetRequestPolicy(ctx, c.Principal, r), "The policy is set: %s.", r.Text())
		})
}
