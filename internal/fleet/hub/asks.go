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

// A target may ask so often at once, and then once in each time, whatever the answer is.
const (
	askBurst = 5
	askEvery = 10 * time.Minute
)

func askPaces() paces { return paces{every: rate.Every(askEvery), burst: askBurst} }

// heldAsk is an ask that waits. There is one of each kind for a target, and of certificates one
// for the same names: a newer one takes the place of the older.
type heldAsk struct {
	Target fleet.TargetID `json:"target"`
	fleet.Ask
	At int64 `json:"at"` // ns since 1970
}

func askKey(id fleet.TargetID, a fleet.Ask) string {
	key := string(id) + "/" + string(a.What)
	if a.What != fleet.AskCertificate {
		return key
	}
	sum := sha256.Sum256([]byte(strings.Join(a.Names, " ")))
	return key + "/" + hex.EncodeToString(sum[:8])
}

// onAsk answers what an agent asks for itself. It is in the audit log before anything is
// done, as it is where people ask.
func (h *Hub) onAsk(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	t, err := h.trusted(ctx, from)
	if err != nil {
		return nil, err
	}
	a, err := fleet.ParseAsk(body)
	if err == nil && a.What == fleet.AskCertificate {
		err = pki.CheckServiceNames(a.Names)
	}
	if err == nil {
		err = h.hear(ctx, t, a.What)
	}
	if err != nil {
		return nil, err
	}
	verdict, why, err := h.judgeAsk(ctx, t, a)
	if err != nil {
		return nil, err
	}
	if was, _, _ := h.asks.get(askKey(from, a)); verdict == fleet.Hold && was.Ask.Same(a) {
		return json.Marshal(fleet.AskAnswer{Answer: fleet.AskHeld}) // it only asks whether it is decided
	}
	outcome := map[fleet.Verdict]string{fleet.Hold: "held", fleet.Allow: access.Begun, fleet.Refuse: access.Denied}[verdict]
	if err := h.auditAsk(ctx, t, a, outcome); err != nil {
		return nil, err
	}
	answer, err := h.answerAsk(ctx, t, a, verdict, why)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// hear bounds how often a target asks.
func (h *Hub) hear(ctx context.Context, t fleet.Target, what fleet.AskKind) error {
	pace, every := &h.asking, askEvery
	if what == fleet.AskCertificate {
		pace, every = &h.certifying, certifyEvery
	}
	ok, tell := pace.take(t.ID, h.now())
	if ok {
		return nil
	}
	if tell {
		h.note(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: t.ID, Text: "asks again and again", Error: "it is heard once in " + every.String()})
	}
	return fmt.Errorf("cannot hear more asks of %s now: one in %s is taken", t.Name, every)
}

// judgeAsk says what becomes of an ask, and why.
func (h *Hub) judgeAsk(ctx context.Context, t fleet.Target, a fleet.Ask) (fleet.Verdict, string, error) {
	policy, err := h.AskPolicy(ctx)
	if err != nil {
		return "", "", err
	}
	if a.What == fleet.AskCertificate {
		v, why := h.judgeCertificate(policy, t, a.Names)
		return v, why, nil
	}
	return policy.Of(a.What), "the policy of the fleet says so", nil
}

func (h *Hub) answerAsk(ctx context.Context, t fleet.Target, a fleet.Ask, v fleet.Verdict, why string) (fleet.AskAnswer, error) {
	switch {
	case v == fleet.Refuse:
		h.note(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: t.ID, Text: askText(a), Error: "refused: " + why})
		return fleet.AskAnswer{}, fmt.Errorf("%w: the policy of the fleet refuses %s to %s: %s", fleet.ErrDenied, a.What, t.Name, why)
	case v == fleet.Hold:
		return fleet.AskAnswer{Answer: fleet.AskHeld}, h.holdAsk(ctx, t.ID, a)
	case a.What == fleet.AskCertificate:
		return h.certify(ctx, t, a, why)
	}
	return fleet.AskAnswer{Answer: fleet.AskDone}, h.grantAsk(ctx, access.Somebody("target "+t.Name, "certificate"), t, a)
}

func (h *Hub) auditAsk(ctx context.Context, t fleet.Target, a fleet.Ask, outcome string) error {
	return h.trail.Append(ctx, access.Entry{Who: "target " + string(t.ID), How: "certificate", What: "ask " + askWhat(a), On: t.Name, Outcome: outcome, Reason: a.Because})
}

// askWhat is what is asked for, with its names.
func askWhat(a fleet.Ask) string {
	return strings.Join(append([]string{string(a.What)}, a.Names...), " ")
}

func askText(a fleet.Ask) string {
	if a.Because == "" {
		return askWhat(a)
	}
	return fmt.Sprintf("%s, because %s", askWhat(a), a.Because)
}

func (h *Hub) holdAsk(ctx context.Context, id fleet.TargetID, a fleet.Ask) error {
	key := askKey(id, a)
	_, rev, there := h.asks.get(key)
	if !there && len(h.heldOf(id, a.What)) >= maxHeldServices {
		return fmt.Errorf("%w: %d certificates wait for somebody already, and that is the most", fleet.ErrDenied, maxHeldServices)
	}
	a.Request = "" // what is decided is about the names; it asks again with a key
	if err := h.asks.put(ctx, key, heldAsk{Target: id, Ask: a, At: h.now().UnixNano()}, rev); err != nil {
		return err
	}
	return h.record(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: id, Text: askText(a) + "; it waits for fettle ask approve, or refuse"})
}

// heldOf are the asks of a target for something that wait.
func (h *Hub) heldOf(id fleet.TargetID, what fleet.AskKind) []heldAsk {
	return slices.DeleteFunc(h.asks.values(), func(a heldAsk) bool { return a.Target != id || a.What != what })
}

// grantAsk does what was asked for.
func (h *Hub) grantAsk(ctx context.Context, by access.Who, t fleet.Target, a fleet.Ask) error {
	switch a.What {
	case fleet.AskCertificate:
		return h.approveNames(ctx, by, t, a.Names)
	case fleet.AskFreeze:
		return h.Freeze(ctx, by, t.ID, document.FreezeRequest{Reason: a.Because})
	}
	return h.Suspect(ctx, by, t.ID, a.Because)
}

// Asks are those that wait for somebody, the oldest first.
func (h *Hub) Asks(context.Context) ([]document.Ask, error) {
	out := []document.Ask{}
	for _, a := range h.asks.values() {
		if t, _, ok := h.targets.get(string(a.Target)); ok && t.Standing == fleet.Active {
			out = append(out, document.Ask{Target: a.Target, Name: t.Name, What: a.What, Names: a.Names, Because: a.Because, At: a.At})
		}
	}
	slices.SortFunc(out, func(a, b document.Ask) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name), cmp.Compare(a.What, b.What))
	})
	return out, nil
}

// DecideAsk does what a target asked for, or does not. Which of several certificates is meant
// is told by one of its names.
func (h *Hub) DecideAsk(ctx context.Context, by access.Who, id fleet.TargetID, what fleet.AskKind, name string, refuse bool, reason string) error {
	found := slices.DeleteFunc(h.heldOf(id, what), func(a heldAsk) bool { return name != "" && !slices.Contains(a.Names, name) })
	if len(found) == 0 {
		return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find an ask of that target for %.40q", what), Hint: "Look at: fettle ask list"}
	}
	if len(found) > 1 {
		return &api.Refusal{Status: http.StatusConflict, Why: fmt.Sprintf("cannot tell which of %d certificates is meant", len(found)), Hint: "Say one of its names: --name NAME"}
	}
	a := found[0]
	if refuse {
		h.note(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: id, By: by.Name, Text: askWhat(a.Ask) + " was refused", Error: reason})
	} else {
		t, err := h.trusted(ctx, id)
		if err == nil {
			err = h.grantAsk(ctx, by, t, a.Ask)
		}
		if err != nil {
			return err
		}
	}
	return h.asks.remove(ctx, askKey(id, a.Ask))
}

// Suspect marks a target as one that is not to be relied on. One that is marked keeps the
// first reason.
func (h *Hub) Suspect(ctx context.Context, by access.Who, id fleet.TargetID, because string) error {
	if t, _, ok := h.targets.get(string(id)); ok && t.Suspect != nil {
		return nil
	}
	err := h.edit(ctx, by, id, func(t *fleet.Target) error {
		t.Suspect = &fleet.Suspicion{Because: because, By: by.Name, Since: h.now().Unix()}
		return nil
	})
	return h.did(ctx, by, fleet.Suspected, id, "", because, err)
}

// Trust takes the mark away. One that has none is no error. If several hosts still have
// its identity, their next claims prove it again.
func (h *Hub) Trust(ctx context.Context, by access.Who, id fleet.TargetID, reason string) error {
	if err := h.claims.forget(ctx, id); err != nil {
		return err
	}
	err := h.edit(ctx, by, id, func(t *fleet.Target) error { t.Suspect = nil; return nil })
	return h.did(ctx, by, fleet.Trusted, id, "", reason, err)
}

// forgetAsks removes what a target asked for that is not one of the fleet any more.
func (h *Hub) forgetAsks(id fleet.TargetID) {
	h.asking.forget(id)
	h.certifying.forget(id)
	for _, a := range h.asks.values() {
		if a.Target != id {
			continue
		}
		if err := h.asks.remove(h.ctx, askKey(id, a.Ask)); err != nil && h.ctx.Err() == nil {
			h.warn("cannot forget what a target asked for: " + err.Error())
		}
	}
}
