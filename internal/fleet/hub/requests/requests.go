package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/certificates"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// OnRequest answers a request of an agent. The audit log contains it before it has an effect, as
// for operations of users.
func (h *Handler) OnRequest(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	t, err := h.Targets.Trusted(ctx, from)
	if err != nil {
		return nil, err
	}
	a, err := fleet.ParseRequest(body)
	if err == nil && a.What == fleet.RequestCertificate {
		err = pki.CheckServiceNames(a.Names)
	}
	if err == nil {
		err = h.limitRequests(ctx, t, a.What)
	}
	if err != nil {
		return nil, err
	}
	verdict, why := h.judgeRequest(t, a)
	if was, _, _ := h.Records.Requests.Get(records.RequestKey(from, a)); verdict == fleet.Hold && was.Request.Same(a) {
		return json.Marshal(
			fleet.RequestAnswer{Answer: fleet.RequestPending}) // the agent asks again whether a user has decided
	}
	outcome := map[fleet.Verdict]string{fleet.Hold: "pending", fleet.Allow: access.Begun,
		fleet.Reject: access.Denied}[verdict]
	if err := h.auditRequest(ctx, t, a, outcome); err != nil {
		return nil, err
	}
	answer, err := h.answerRequest(ctx, t, a, verdict, why)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// limitRequests returns an error for a target that exceeds the limit of its requests.
func (h *Handler) limitRequests(ctx context.Context, t fleet.Target, what fleet.RequestKind) error {
	pace, every := &h.limiter, requestInterval
	if what == fleet.RequestCertificate {
		pace, every = &h.Certificates.Paces, certificates.CertifyEvery
	}
	ok, tell := pace.Take(t.ID, h.Now())
	if ok {
		return nil
	}
	if tell {
		h.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: t.ID, Text: "sends too many requests",
			Error: "one is accepted in " + every.String()})
	}
	return fmt.Errorf("cannot accept more requests of %s now: one in %s is accepted", t.Name, every)
}

// judgeRequest returns the decision about a request, and its reason.
func (h *Handler) judgeRequest(t fleet.Target, a fleet.Request) (fleet.Verdict, string) {
	policy := h.policy()
	if a.What == fleet.RequestCertificate {
		return h.Certificates.Judge(policy, t, a.Names)
	}
	return policy.Of(a.What), "by the policy of the fleet"
}

func (h *Handler) answerRequest(ctx context.Context, t fleet.Target, a fleet.Request, v fleet.Verdict,
	why string) (fleet.RequestAnswer, error) {
	switch {
	case v == fleet.Reject:
		h.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: t.ID, Text: requestWithReason(a),
			Error: "refused: " + why})
		return fleet.RequestAnswer{}, fmt.Errorf("%w: the policy of the fleet refuses %s to %s: %s", fleet.ErrDenied,
			a.What, t.Name, why)
	case v == fleet.Hold:
		return fleet.RequestAnswer{Answer: fleet.RequestPending}, h.holdRequest(ctx, t.ID, a)
	case a.What == fleet.RequestCertificate:
		return h.Certificates.Certify(ctx, t, a, why)
	}
	return fleet.RequestAnswer{Answer: fleet.RequestDone},
		h.grantRequest(ctx, access.NewPrincipal("target "+t.Name, "certificate"), t, a)
}

func (h *Handler) auditRequest(ctx context.Context, t fleet.Target, a fleet.Request, outcome string) error {
	return h.Audit(ctx, access.Entry{User: "target " + string(t.ID), Credential: "certificate", Operation: "request " +
		requestText(a), Object: t.Name, Outcome: outcome, Reason: a.Reason})
}

// requestText returns the kind of a request and its names.
func requestText(a fleet.Request) string {
	return strings.Join(append([]string{string(a.What)}, a.Names...), " ")
}

func requestWithReason(a fleet.Request) string {
	if a.Reason == "" {
		return requestText(a)
	}
	return fmt.Sprintf("%s, because %s", requestText(a), a.Reason)
}

func (h *Handler) holdRequest(ctx context.Context, id fleet.TargetID, a fleet.Request) error {
	key := records.RequestKey(id, a)
	_, rev, there := h.Records.Requests.Get(key)
	if !there && len(h.pendingOf(id, a.What)) >= certificates.MaxPending {
		return fmt.Errorf("%w: %d requests for certificates already wait for approval, which is the limit",
			fleet.ErrDenied, certificates.MaxPending)
	}
	a.Signing = "" // the decision applies to the names; the agent sends its key again later
	if err := h.Records.Requests.Put(ctx, key, records.Request{Target: id, Request: a, At: h.Now().UnixNano()},
		rev); err != nil {
		return err
	}
	return h.Events.Record(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: id, Text: requestWithReason(a) +
		"; it waits for fettle request approve, or reject"})
}

// pendingOf returns the pending requests of one kind of a target.
func (h *Handler) pendingOf(id fleet.TargetID, what fleet.RequestKind) []records.Request {
	return slices.DeleteFunc(h.Records.Requests.Values(),
		func(a records.Request) bool { return a.Target != id || a.What != what })
}

// grantRequest performs the requested operation.
func (h *Handler) grantRequest(ctx context.Context, by access.Principal, t fleet.Target, a fleet.Request) error {
	switch a.What {
	case fleet.RequestCertificate:
		return h.Certificates.ApproveNames(ctx, by, t, a.Names)
	case fleet.RequestFreeze:
		return h.Targets.Freeze(ctx, by, t.ID, document.FreezeRequest{Reason: a.Reason})
	}
	return h.Targets.Suspect(ctx, by, t.ID, a.Reason)
}

// HandleRoutes registers the handlers of requests that need no target, and of the policy for requests.
func (h *Handler) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.Requests(), h.Requests)
	api.HandleGet(t, route.RequestPolicy(), h.RequestPolicy)
	api.HandlePost(t, route.SetRequestPolicy(), h.SetRequestPolicy)
}

// Requests returns the pending requests of active targets, the oldest first.
func (h *Handler) Requests(context.Context) (document.RequestPage, error) {
	out := []document.Request{}
	for _, a := range h.Records.Requests.Values() {
		if t, _, ok := h.Records.Targets.Get(string(a.Target)); ok && t.Standing == fleet.Active {
			out = append(out, document.Request{Target: a.Target, Name: t.Name, What: a.What, Names: a.Names,
				Reason: a.Reason, At: a.At})
		}
	}
	slices.SortFunc(out, func(a, b document.Request) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name), cmp.Compare(a.What, b.What))
	})
	return document.RequestPage{Format: document.RequestPageFormat, Requests: out}, nil
}

// DecideRequest approves or rejects a pending request. If a target has requested several
// certificates, name selects one by any of its names.
func (h *Handler) DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind,
	name string, refuse bool, reason string) error {
	found := slices.DeleteFunc(h.pendingOf(id, what),
		func(a records.Request) bool { return name != "" && !slices.Contains(a.Names, name) })
	if len(found) == 0 {
		return &api.Refusal{Status: api.NotFound,
			Why:  fmt.Sprintf("cannot find a request of this target for %.40q", what),
			Hint: "List the requests: fettle request list"}
	}
	if len(found) > 1 {
		return &api.Refusal{Status: api.Conflict,
			Why:  fmt.Sprintf("cannot choose: %d requests for certificates are pending", len(found)),
			Hint: "Give a name in the certificate: --name NAME"}
	}
	a := found[0]
	if refuse {
		h.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: id, By: by.Name,
			Text: requestText(a.Request) + " was rejected", Error: reason})
	} else {
		t, err := h.Targets.Trusted(ctx, id)
		if err == nil {
			err = h.grantRequest(ctx, by, t, a.Request)
		}
		if err != nil {
			return err
		}
	}
	return h.Records.Requests.Remove(ctx, records.RequestKey(id, a.Request))
}

// Forget removes the requests of a target that left the fleet.
func (h *Handler) Forget(id fleet.TargetID) {
	h.limiter.Forget(id)
	h.Certificates.Paces.Forget(id)
	for _, a := range h.Records.Requests.Values() {
		if a.Target != id {
			continue
		}
		if err := h.Records.Requests.Remove(h.Context(), records.RequestKey(id, a.Request)); err != nil &&
			h.Context().Err() == nil {
			h.Warn("cannot remove requests of a target: " + err.Error())
		}
	}
}
