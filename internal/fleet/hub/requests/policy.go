package requests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/certificates"
)

// requestPolicyKey is the key of the only policy of a fleet for requests of agents.
const requestPolicyKey = "fleet"

// policy returns the policy of the fleet for requests of agents.
func (h *Handler) policy() fleet.RequestPolicy {
	p, _, _ := h.Records.RequestPolicies.Get(requestPolicyKey)
	return p
}

// RequestPolicy returns the policy, with the answers for all kinds of requests.
func (h *Handler) RequestPolicy(context.Context) (document.RequestPolicy, error) {
	p := h.policy()
	d := document.RequestPolicy{Format: document.RequestPolicyFormat, Answers: map[fleet.RequestKind]fleet.Verdict{},
		By: p.By, Changed: p.Changed}
	for _, what := range []fleet.RequestKind{fleet.RequestFreeze, fleet.RequestSuspect} {
		d.Answers[what] = p.Of(what)
	}
	d.Certificates = append([]fleet.CertificateRule{}, p.Certificates...)
	return d, nil
}

// Begin stores the first policy of a fleet, from the settings of the first hub. From
// then on, hubs ignore these settings, so that all hubs decide in the same way.
func (h *Handler) Begin(ctx context.Context) error {
	if _, _, there := h.Records.RequestPolicies.Get(requestPolicyKey); there {
		return nil
	}
	p := fleet.RequestPolicy{Answers: h.Answers, By: "hub " + h.Hub, Changed: h.Now().UnixNano()}
	if err := h.Records.RequestPolicies.Put(ctx, requestPolicyKey, p, 0); err != nil &&
		!errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot store the policy for requests of agents: %w", err)
	}
	return nil
}

// SetRequestPolicy changes one answer, or one rule, at all hubs.
func (h *Handler) SetRequestPolicy(ctx context.Context, by api.Caller,
	r document.RequestPolicyChange) (document.Done, error) {
	return api.Done(h.changePolicy(ctx, by.Name, r), "The policy is set: %s.", r.Text())
}

func (h *Handler) changePolicy(ctx context.Context, by string, r document.RequestPolicyChange) error {
	refused := func(err error) error {
		return &api.Refusal{Status: api.BadRequest, Why: err.Error(), Hint: "See: fettle request policy set --help"}
	}
	if _, err := changedPolicy(h.policy(), r); err != nil {
		return refused(err)
	}
	if err := h.Events.Record(ctx, fleet.HubEvent{Kind: fleet.RequestPolicyChanged, By: by, Text: "requests: " +
		r.Text()}); err != nil {
		return err
	}
	_, err := h.Records.RequestPolicies.Change(ctx, requestPolicyKey, func(p *fleet.RequestPolicy) error {
		next, err := changedPolicy(*p, r)
		*p, p.By, p.Changed = next, by, h.Now().UnixNano()
		return err
	})
	return err
}

// changedPolicy returns a policy with one change.
func changedPolicy(p fleet.RequestPolicy, r document.RequestPolicyChange) (fleet.RequestPolicy, error) {
	if r.What != fleet.RequestCertificate {
		if err := fleet.CheckAnswers(map[fleet.RequestKind]fleet.Verdict{r.What: r.Answer}); err != nil {
			return p, err
		}
		p.Answers = maps.Clone(p.Answers)
		if p.Answers == nil {
			p.Answers = map[fleet.RequestKind]fleet.Verdict{}
		}
		p.Answers[r.What] = r.Answer
		return p, nil
	}
	rule := fleet.CertificateRule{Select: r.Select, Names: r.Names, Answer: r.Answer}
	same := func(o fleet.CertificateRule) bool {
		return slices.Equal(o.Select, r.Select) && slices.Equal(o.Names, r.Names)
	}
	rules := slices.Clone(p.Certificates)
	at := slices.IndexFunc(rules, same)
	switch {
	case r.Answer == "" && at < 0:
		return p, fmt.Errorf("cannot find a rule of %q for %q", r.Select, r.Names)
	case r.Answer == "":
		p.Certificates = slices.Delete(rules, at, at+1)
		return p, nil
	case at >= 0 && r.First:
		rules = slices.Insert(slices.Delete(rules, at, at+1), 0, rule)
	case at >= 0:
		rules[at] = rule
	case len(rules) >= fleet.MaxCertificateRules:
		return p, fmt.Errorf("cannot have more than %d rules", fleet.MaxCertificateRules)
	case r.First:
		rules = slices.Insert(rules, 0, rule)
	default:
		rules = append(rules, rule)
	}
	p.Certificates = rules
	return p, certificates.CheckRule(rule)
}
