package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// requestRoutes returns the routes for requests of agents.
func requestRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/requests", Right: access.Read, Does: "List requests of agents that are not decided", Out: document.RequestPage{}, call: (*call).requests},
		{Method: "GET", Path: "/v1/requests/policy", Right: access.Read, Does: "Show the policy for requests of agents", Out: document.RequestPolicy{}, call: (*call).requestPolicy},
		{Method: "POST", Path: "/v1/requests/policy", Right: access.Admin, Does: "Set the policy for requests of agents, at all hubs", In: document.RequestPolicyChange{}, Out: document.Done{}, call: (*call).setRequestPolicy},
		{Method: "POST", Path: "/v1/targets/{target}/requests/{request}/approve", Right: access.Approve, Does: "Approve a target's request", In: document.RequestDecision{}, Out: document.Done{}, call: (*call).approveRequest},
		{Method: "POST", Path: "/v1/targets/{target}/requests/{request}/reject", Right: access.Approve, Does: "Reject a target's request", In: document.RequestDecision{}, Out: document.Done{}, call: (*call).rejectRequest},
		{Method: "GET", Path: "/v1/certificates", Right: access.Read, Does: "List valid certificates of services, and approved requests", Out: document.CertificatePage{}, call: (*call).certificates},
		{Method: "POST", Path: "/v1/certificates/revoke", Right: access.Approve, Does: "Revoke certificates of services; the answer is the job that informs the agents", In: document.CertificateRevocation{}, Out: document.Job{}, call: (*call).revokeCertificates},
		{Method: "POST", Path: "/v1/targets/{target}/suspect", Right: access.Operate, Does: "Mark a target as suspect", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).suspect},
		{Method: "POST", Path: "/v1/targets/{target}/trust", Right: access.Operate, Does: "Remove the suspect mark of a target", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).trust},
	}
}

func (c *call) requests() (any, error) {
	all, err := c.h.Backend.Requests(c.r.Context())
	return document.RequestPage{Format: document.RequestPageFormat, Requests: append([]document.Request{}, all...)}, err
}

func (c *call) requestPolicy() (any, error) {
	p, err := c.h.Backend.RequestPolicy(c.r.Context())
	d := document.RequestPolicy{Format: document.RequestPolicyFormat, Answers: map[fleet.RequestKind]fleet.Verdict{}, By: p.By, Changed: p.Changed}
	for _, what := range []fleet.RequestKind{fleet.RequestFreeze, fleet.RequestSuspect} {
		d.Answers[what] = p.Of(what)
	}
	d.Certificates = append([]fleet.CertificateRule{}, p.Certificates...)
	return d, err
}

func (c *call) setRequestPolicy() (any, error) {
	r := *c.in.(*document.RequestPolicyChange)
	return done("The policy is set: %s.", r.Text())(c.h.Backend.SetRequestPolicy(c.r.Context(), c.who, r))
}

func (c *call) approveRequest() (any, error) {
	return c.on("The request of %s is approved.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.DecideRequest(ctx, c.who, t.ID, fleet.RequestKind(c.path["request"]), c.in.(*document.RequestDecision).Name, false, c.in.(*document.RequestDecision).Reason)
	})
}

func (c *call) rejectRequest() (any, error) {
	return c.on("The request of %s is rejected.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.DecideRequest(ctx, c.who, t.ID, fleet.RequestKind(c.path["request"]), c.in.(*document.RequestDecision).Name, true, c.in.(*document.RequestDecision).Reason)
	})
}

func (c *call) suspect() (any, error) {
	return c.on("%s is suspect.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.Suspect(ctx, c.who, t.ID, c.reason())
	})
}

func (c *call) trust() (any, error) {
	return c.on("%s is trusted.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.Trust(ctx, c.who, t.ID, c.reason())
	})
}

func (c *call) certificates() (any, error) {
	p, err := c.h.Backend.Certificates(c.r.Context())
	p.Format = document.CertificatePageFormat
	return p, err
}

func (c *call) revokeCertificates() (any, error) {
	r, err := c.h.Backend.RevokeCertificates(c.r.Context(), c.who, *c.in.(*document.CertificateRevocation))
	return formedJob(r), err
}
