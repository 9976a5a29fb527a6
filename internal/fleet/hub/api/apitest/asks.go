package apitest

import (
	"context"
	"net/http"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// Asks are one of web1, that it be marked as suspect, whatever was decided.
func (h *Hub) Asks(ctx context.Context) ([]document.Ask, error) {
	return []document.Ask{{Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", What: fleet.AskSuspect, Because: "disk errors", At: Now().UnixNano()}}, nil
}

// DecideAsk knows the one of Asks, and tells of it in the log.
func (h *Hub) DecideAsk(ctx context.Context, by access.Who, id fleet.TargetID, what fleet.AskKind, _ string, refuse bool, reason string) error {
	if what != fleet.AskSuspect {
		return &api.Refusal{Status: http.StatusNotFound, Why: "cannot find an ask of that target for " + string(what), Hint: "Look at: fettle ask list"}
	}
	if !refuse {
		return h.Suspect(ctx, by, id, "disk errors")
	}
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.Asked, Target: id, By: by.Name, Error: reason})
}

// Suspect keeps the mark.
func (h *Hub) Suspect(ctx context.Context, by access.Who, id fleet.TargetID, because string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) {
		t.Suspect = &fleet.Suspicion{Because: because, By: by.Name, Since: Now().Unix()}
	})
}

// Trust takes it away.
func (h *Hub) Trust(ctx context.Context, by access.Who, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Suspect = nil })
}

// AskPolicy is what was set, nothing at first.
func (h *Hub) AskPolicy(context.Context) (fleet.AskPolicy, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.askPolicy, nil
}

// SetAskPolicy keeps an answer, or a rule behind the others.
func (h *Hub) SetAskPolicy(_ context.Context, by access.Who, r document.AskPolicyRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.askPolicy.By, h.askPolicy.Changed = by.Name, Now().UnixNano()
	if r.What == fleet.AskCertificate {
		h.askPolicy.Certificates = append(slices.Clone(h.askPolicy.Certificates), fleet.CertificateRule{Select: r.Select, Names: r.Names, Answer: r.Answer})
		return nil
	}
	answers := map[fleet.AskKind]fleet.Verdict{r.What: r.Answer}
	if err := fleet.CheckAnswers(answers); err != nil {
		return &api.Refusal{Status: http.StatusBadRequest, Why: err.Error(), Hint: "See: fettle ask policy set --help"}
	}
	for what, v := range h.askPolicy.Answers {
		if what != r.What {
			answers[what] = v
		}
	}
	h.askPolicy.Answers = answers
	return nil
}

// Certificates are one of web1, that somebody approved.
func (h *Hub) Certificates(context.Context) (document.CertificatePage, error) {
	names := []string{"192.0.2.1", "web1.example.org"}
	return document.CertificatePage{
		Certificates: []document.Certificate{{Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Serial: "1f", Names: names, At: Now().UnixNano(), Until: Now().AddDate(0, 0, 30).UnixNano(), Hub: "hub1", By: "jane"}},
		Approved:     []document.CertificateApproval{{Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Names: names, By: "jane", At: Now().UnixNano()}},
	}, nil
}

// ForbidCertificates knows the one of Certificates, and asks web1 to know.
func (h *Hub) ForbidCertificates(ctx context.Context, by access.Who, r document.CertificateForbidding) (document.Request, error) {
	if r.Serial != "1f" && r.Target != "web1" {
		return document.Request{}, &api.Refusal{Status: http.StatusNotFound, Why: "cannot find a certificate that is meant", Hint: "Look at: fettle certificate list"}
	}
	return h.Do(ctx, by, document.DoRequest{What: fleet.DoForbid, Arg: "hub1/1f"}, []fleet.TargetID{"aaaaaaaaaaaaaaaaaaaaaaaaaa"})
}
