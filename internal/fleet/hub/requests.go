package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// The limits of the requests of one target, for any answer.
const (
	requestBurst    = 5
	requestInterval = 10 * time.Minute
)

func newRequestLimiter() targetLimiter {
	return targetLimiter{every: rate.Every(requestInterval), burst: requestBurst}
}

// pendingRequest is a request that waits for a decision. A target has one of each kind, and of
// certificates one for the same names: a newer request replaces the older one.
type pendingRequest struct {
	Target fleet.TargetID `json:"target"`
	fleet.Request
	At int64 `json:"at"` // ns since 1970
}

func requestKey(id fleet.TargetID, a fleet.Request) string {
	key := string(id) + "/" + string(a.What)
	if a.What != fleet.RequestCertificate {
		return key
	}
	sum := sha256.Sum256([]byte(strings.Join(a.Names, " ")))
	return key + "/" + hex.EncodeToString(sum[:8])
}

// onRequest answers a request of an agent. The audit log contains it before it has an effect, as
// for operations of users.
func (h *Hub) onRequest(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	t, err := h.trusted(ctx, from)
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
	verdict, why, err := h.judgeRequest(ctx, t, a)
	if err != nil {
		return nil, err
	}
	if was, _, _ := h.requests.get(requestKey(from, a)); verdict == fleet.Hold && was.Request.Same(a) {
		return json.Marshal(fleet.RequestAnswer{Answer: fleet.RequestPending}) // the agent asks again whether a user has decided
	}
	outcome := map[fleet.Verdict]string{fleet.Hold: "pending", fleet.Allow: access.Begun, fleet.Reject: access.Denied}[verdict]
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
func (h *Hub) limitRequests(ctx context.Context, t fleet.Target, what fleet.RequestKind) error {
	pace, every := &h.requestLimiter, requestInterval
	if what == fleet.RequestCertificate {
		pace, every = &h.certifying, certifyEvery
	}
	ok, tell := pace.take(t.ID, h.now())
	if ok {
		return nil
	}
	if tell {
		h.note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: t.ID, Text: "sends too many requests",
			Error: "one is accepted in " + every.String()})
	}
	return fmt.Errorf("cannot accept more requests of %s now: one in %s is accepted", t.Name, every)
}

// judgeRequest returns the decision about a request, and its reason.
func (h *Hub) judgeRequest(ctx context.Context, t fleet.Target, a fleet.Request) (fleet.Verdict, string, error) {
	policy, err := h.RequestPolicy(ctx)
	if err != nil {
		return "", "", err
	}
	if a.What == fleet.RequestCertificate {
		v, why := h.judgeCertificate(policy, t, a.Names)
		return v, why, nil
	}
	return policy.Of(a.What), "by the policy of the fleet", nil
}

func (h *Hub) answerRequest(ctx context.Context, t fleet.Target, a fleet.Request, v fleet.Verdict, why string) (fleet.RequestAnswer, error) {
	switch {
	case v == fleet.Reject:
		h.note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: t.ID, Text: requestWithReason(a), Error: "refused: " + why})
		return fleet.RequestAnswer{}, fmt.Errorf("%w: the policy of the fleet refuses %s to %s: %s", fleet.ErrDenied, a.What, t.Name, why)
	case v == fleet.Hold:
		return fleet.RequestAnswer{Answer: fleet.RequestPending}, h.holdRequest(ctx, t.ID, a)
	case a.What == fleet.RequestCertificate:
		return h.certify(ctx, t, a, why)
	}
	return fleet.RequestAnswer{Answer: fleet.RequestDone}, h.grantRequest(ctx, access.NewPrincipal("target "+t.Name, "certificate"), t, a)
}

func (h *Hub) auditRequest(ctx context.Context, t fleet.Target, a fleet.Request, outcome string) error {
	return h.trail.Append(ctx, access.Entry{User: "target " + string(t.ID), Credential: "certificate",
		Operation: "request " + requestText(a), Object: t.Name, Outcome: outcome, Reason: a.Reason})
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

func (h *Hub) holdRequest(ctx context.Context, id fleet.TargetID, a fleet.Request) error {
	key := requestKey(id, a)
	_, rev, there := h.requests.get(key)
	if !there && len(h.pendingOf(id, a.What)) >= maxHeldServices {
		return fmt.Errorf("%w: %d requests for certificates already wait for approval, which is the limit", fleet.ErrDenied, maxHeldServices)
	}
	a.Signing = "" // the decision applies to the names; the agent sends its key again later
	if err := h.requests.put(ctx, key, pendingRequest{Target: id, Request: a, At: h.now().UnixNano()}, rev); err != nil {
		return err
	}
	return h.record(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: id,
		Text: requestWithReason(a) + "; it waits for fettle request approve, or reject"})
}

// pendingOf returns the pending requests of one kind of a target.
func (h *Hub) pendingOf(id fleet.TargetID, what fleet.RequestKind) []pendingRequest {
	return slices.DeleteFunc(h.requests.values(), func(a pendingRequest) bool { return a.Target != id || a.What != what })
}

// grantRequest performs the requested operation.
func (h *Hub) grantRequest(ctx context.Context, by access.Principal, t fleet.Target, a fleet.Request) error {
	switch a.What {
	case fleet.RequestCertificate:
		return h.approveNames(ctx, by, t, a.Names)
	case fleet.RequestFreeze:
		return h.Freeze(ctx, by, t.ID, document.FreezeRequest{Reason: a.Reason})
	}
	return h.Suspect(ctx, by, t.ID, a.Reason)
}

// Requests returns the pending requests of active targets, the oldest first.
func (h *Hub) Requests(context.Context) ([]document.Request, error) {
	out := []document.Request{}
	for _, a := range h.requests.values() {
		if t, _, ok := h.targets.get(string(a.Target)); ok && t.Standing == fleet.Active {
			out = append(out, document.Request{Target: a.Target, Name: t.Name, What: a.What, Names: a.Names, Reason: a.Reason, At: a.At})
		}
	}
	slices.SortFunc(out, func(a, b document.Request) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name), cmp.Compare(a.What, b.What))
	})
	return out, nil
}

// DecideRequest approves or rejects a pending request. If a target has requested several
// certificates, name selects one by any of its names.
func (h *Hub) DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind,
	name string, refuse bool, reason string) error {
	found := slices.DeleteFunc(h.pendingOf(id, what), func(a pendingRequest) bool { return name != "" && !slices.Contains(a.Names, name) })
	if len(found) == 0 {
		return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find a request of this target for %.40q", what),
			Hint: "List the requests: fettle request list"}
	}
	if len(found) > 1 {
		return &api.Refusal{Status: http.StatusConflict, Why: fmt.Sprintf("cannot choose: %d requests for certificates are pending", len(found)),
			Hint: "Give a name in the certificate: --name NAME"}
	}
	a := found[0]
	if refuse {
		h.note(ctx, fleet.HubEvent{Kind: fleet.RequestReceived, Target: id, By: by.Name,
			Text: requestText(a.Request) + " was rejected", Error: reason})
	} else {
		t, err := h.trusted(ctx, id)
		if err == nil {
			err = h.grantRequest(ctx, by, t, a.Request)
		}
		if err != nil {
			return err
		}
	}
	return h.requests.remove(ctx, requestKey(id, a.Request))
}

// Suspect marks a target as not reliable. A target that is marked already keeps its first reason.
func (h *Hub) Suspect(ctx context.Context, by access.Principal, id fleet.TargetID, because string) error {
	if t, _, ok := h.targets.get(string(id)); ok && t.Suspect != nil {
		return nil
	}
	err := h.edit(ctx, by, id, func(t *fleet.Target) error {
		t.Suspect = &fleet.Suspicion{Reason: because, By: by.Name, Since: h.now().Unix()}
		return nil
	})
	return h.did(ctx, by, fleet.Suspected, id, "", because, err)
}

// Trust removes the mark. Without a mark it has no effect. If several hosts still have the identity
// of the target, their next claims prove it again.
func (h *Hub) Trust(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	if err := h.claims.forget(ctx, id); err != nil {
		return err
	}
	err := h.edit(ctx, by, id, func(t *fleet.Target) error { t.Suspect = nil; return nil })
	return h.did(ctx, by, fleet.Trusted, id, "", reason, err)
}

// forgetRequests removes the requests of a target that left the fleet.
func (h *Hub) forgetRequests(id fleet.TargetID) {
	h.requestLimiter.forget(id)
	h.certifying.forget(id)
	for _, a := range h.requests.values() {
		if a.Target != id {
			continue
		}
		if err := h.requests.remove(h.ctx, requestKey(id, a.Request)); err != nil && h.ctx.Err() == nil {
			h.warn("cannot remove requests of a target: " + err.Error())
		}
	}
}
