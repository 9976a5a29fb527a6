package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// askRoutes are those of what agents ask for.
func askRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/asks", Right: access.Read, Does: "List requests of agents that are not decided", Out: document.AskPage{}, call: (*call).asks},
		{Method: "GET", Path: "/v1/asks/policy", Right: access.Read, Does: "Show the policy for requests of agents", Out: document.AskPolicy{}, call: (*call).askPolicy},
		{Method: "POST", Path: "/v1/asks/policy", Right: access.Admin, Does: "Set the policy for requests of agents, at all hubs", In: document.AskPolicyRequest{}, Out: document.Done{}, call: (*call).setAskPolicy},
		{Method: "POST", Path: "/v1/targets/{target}/asks/{ask}/approve", Right: access.Approve, Does: "Approve a target's request", In: document.AskDecision{}, Out: document.Done{}, call: (*call).approveAsk},
		{Method: "POST", Path: "/v1/targets/{target}/asks/{ask}/refuse", Right: access.Approve, Does: "Reject a target's request", In: document.AskDecision{}, Out: document.Done{}, call: (*call).refuseAsk},
		{Method: "GET", Path: "/v1/certificates", Right: access.Read, Does: "List valid certificates of services, and approved requests", Out: document.CertificatePage{}, call: (*call).certificates},
		{Method: "POST", Path: "/v1/certificates/forbid", Right: access.Approve, Does: "Revoke certificates of services; the answer is the request that informs the agents", In: document.CertificateForbidding{}, Out: document.Request{}, call: (*call).forbidCertificates},
		{Method: "POST", Path: "/v1/targets/{target}/suspect", Right: access.Operate, Does: "Mark a target as suspect", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).suspect},
		{Method: "POST", Path: "/v1/targets/{target}/trust", Right: access.Operate, Does: "Remove the suspect mark of a target", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).trust},
	}
}

func (c *call) asks() (any, error) {
	all, err := c.h.Backend.Asks(c.r.Context())
	return document.AskPage{Format: document.AskPageFormat, Asks: append([]document.Ask{}, all...)}, err
}

func (c *call) askPolicy() (any, error) {
	p, err := c.h.Backend.AskPolicy(c.r.Context())
	d := document.AskPolicy{Format: document.AskPolicyFormat, Answers: map[fleet.AskKind]fleet.Verdict{}, By: p.By, Changed: p.Changed}
	for _, what := range []fleet.AskKind{fleet.AskFreeze, fleet.AskSuspect} {
		d.Answers[what] = p.Of(what)
	}
	d.Certificates = append([]fleet.CertificateRule{}, p.Certificates...)
	return d, err
}

func (c *call) setAskPolicy() (any, error) {
	r := *c.in.(*document.AskPolicyRequest)
	return done("The policy is set: %s.", r.Text())(c.h.Backend.SetAskPolicy(c.r.Context(), c.who, r))
}

func (c *call) approveAsk() (any, error) {
	return c.on("The request of %s is approved.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.DecideAsk(ctx, c.who, t.ID, fleet.AskKind(c.path["ask"]), c.in.(*document.AskDecision).Name, false, c.in.(*document.AskDecision).Reason)
	})
}

func (c *call) refuseAsk() (any, error) {
	return c.on("The request of %s is rejected.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.DecideAsk(ctx, c.who, t.ID, fleet.AskKind(c.path["ask"]), c.in.(*document.AskDecision).Name, true, c.in.(*document.AskDecision).Reason)
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

func (c *call) forbidCertificates() (any, error) {
	r, err := c.h.Backend.ForbidCertificates(c.r.Context(), c.who, *c.in.(*document.CertificateForbidding))
	return formed(r), err
}
