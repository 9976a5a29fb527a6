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

// Requests always returns one request: web1 asks to be marked as suspect.
func (h *Hub) Requests(ctx context.Context) ([]document.Request, error) {
	return []document.Request{{Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", What: fleet.RequestSuspect,
		Reason: "disk errors", At: Now().UnixNano()}}, nil
}

// DecideRequest decides the request in Requests. A rejection is an event in the log.
func (h *Hub) DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind,
	_ string, refuse bool, reason string) error {
	if what != fleet.RequestSuspect {
		return &api.Refusal{Status: http.StatusNotFound, Why: "cannot find a request of this target for " + string(what),
			Hint: "List the requests: fettle request list"}
	}
	if !refuse {
		return h.Suspect(ctx, by, id, "disk errors")
	}
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.RequestReceived,
		Target: id, By: by.Name, Error: reason})
}

// Suspect marks a target as suspect.
func (h *Hub) Suspect(ctx context.Context, by access.Principal, id fleet.TargetID, because string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) {
		t.Suspect = &fleet.Suspicion{Reason: because, By: by.Name, Since: Now().Unix()}
	})
}

// Trust removes the mark.
func (h *Hub) Trust(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Suspect = nil })
}

// RequestPolicy returns the policy, which is empty at first.
func (h *Hub) RequestPolicy(context.Context) (fleet.RequestPolicy, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requestPolicy, nil
}

// SetRequestPolicy sets an answer, or appends a rule.
func (h *Hub) SetRequestPolicy(_ context.Context, by access.Principal, r document.RequestPolicyChange) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requestPolicy.By, h.requestPolicy.Changed = by.Name, Now().UnixNano()
	if r.What == fleet.RequestCertificate {
		h.requestPolicy.Certificates = append(slices.Clone(h.requestPolicy.Certificates),
			fleet.CertificateRule{Select: r.Select, Names: r.Names, Answer: r.Answer})
		return nil
	}
	answers := map[fleet.RequestKind]fleet.Verdict{r.What: r.Answer}
	if err := fleet.CheckAnswers(answers); err != nil {
		return &api.Refusal{Status: http.StatusBadRequest, Why: err.Error(), Hint: "See: fettle request policy set --help"}
	}
	for what, v := range h.requestPolicy.Answers {
		if what != r.What {
			answers[what] = v
		}
	}
	h.requestPolicy.Answers = answers
	return nil
}

// Certificates returns one certificate of web1 and its approval.
func (h *Hub) Certificates(context.Context) (document.CertificatePage, error) {
	names := []string{"192.0.2.1", "web1.example.org"}
	return document.CertificatePage{
		Certificates: []document.Certificate{{Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Serial: "1f",
			Names: names, At: Now().UnixNano(), Until: Now().AddDate(0, 0, 30).UnixNano(), Hub: "hub1", By: "jane"}},
		Approved: []document.CertificateApproval{{Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Names: names,
			By: "jane", At: Now().UnixNano()}},
	}, nil
}

// RevokeCertificates accepts the certificate in Certificates, and creates the job for web1.
func (h *Hub) RevokeCertificates(ctx context.Context, by access.Principal,
	r document.CertificateRevocation) (document.Job, error) {
	if r.Serial != "1f" && r.Target != "web1" {
		return document.Job{}, &api.Refusal{Status: http.StatusNotFound,
			Why:  "cannot find a valid certificate to revoke: no match, or all matches have expired or are revoked",
			Hint: "List the certificates: fettle cert list"}
	}
	return h.CreateJob(ctx, by, document.JobRequest{What: fleet.JobFetchRevocations, Arg: "hub1/1f"},
		[]fleet.TargetID{"aaaaaaaaaaaaaaaaaaaaaaaaaa"})
}
