package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// A target may ask so often at once, and then once in each time, whatever the answer is.
const (
	askBurst = 5
	askEvery = 10 * time.Minute
)

func askPaces() paces { return paces{every: rate.Every(askEvery), burst: askBurst} }

// heldAsk is an ask that waits. There is one of each kind for a target: a newer one takes
// the place of the older.
type heldAsk struct {
	Target fleet.TargetID `json:"target"`
	fleet.Ask
	At int64 `json:"at"` // ns since 1970
}

func askKey(id fleet.TargetID, what fleet.AskKind) string { return string(id) + "/" + string(what) }

// onAsk answers what an agent asks for itself. It is in the audit log before anything is
// done, as it is where people ask.
func (h *Hub) onAsk(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	t, err := h.active(ctx, from)
	if err != nil {
		return nil, err
	}
	a, err := fleet.ParseAsk(body)
	if err != nil {
		return nil, err
	}
	if ok, tell := h.asking.take(from, h.now()); !ok {
		if tell {
			h.note(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: from, Text: "asks again and again", Error: "it is heard once in " + askEvery.String()})
		}
		return nil, fmt.Errorf("cannot hear more asks of %s now: one in %s is taken", t.Name, askEvery)
	}
	policy, err := h.AskPolicy(ctx)
	if err != nil {
		return nil, err
	}
	verdict := policy.Of(a.What)
	outcome := map[fleet.Verdict]string{fleet.Hold: "held", fleet.Allow: access.Begun, fleet.Refuse: access.Denied}[verdict]
	if err := h.auditAsk(ctx, t, a, outcome); err != nil {
		return nil, err
	}
	switch verdict {
	case fleet.Allow:
		err = h.grantAsk(ctx, access.Somebody("target "+t.Name, "certificate"), from, a)
	case fleet.Refuse:
		h.note(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: from, Text: askText(a), Error: "refused: the policy of the fleet says so"})
		err = fmt.Errorf("%w: the policy of the fleet refuses to %s targets that ask for it", fleet.ErrDenied, a.What)
	default:
		err = h.holdAsk(ctx, from, a)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(fleet.AskAnswer{Answer: map[fleet.Verdict]string{fleet.Hold: fleet.AskHeld, fleet.Allow: fleet.AskDone}[verdict]})
}

func (h *Hub) auditAsk(ctx context.Context, t fleet.Target, a fleet.Ask, outcome string) error {
	return h.trail.Append(ctx, access.Entry{Who: "target " + string(t.ID), How: "certificate", What: "ask " + string(a.What), On: t.Name, Outcome: outcome, Reason: a.Because})
}

func askText(a fleet.Ask) string { return fmt.Sprintf("%s, because %s", a.What, a.Because) }

func (h *Hub) holdAsk(ctx context.Context, id fleet.TargetID, a fleet.Ask) error {
	key := askKey(id, a.What)
	was, rev, _ := h.asks.get(key)
	if was.Ask == a {
		return nil
	}
	if err := h.asks.put(ctx, key, heldAsk{Target: id, Ask: a, At: h.now().UnixNano()}, rev); err != nil {
		return err
	}
	return h.record(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: id, Text: askText(a) + "; it waits for fettle ask approve, or refuse"})
}

// grantAsk does what was asked for.
func (h *Hub) grantAsk(ctx context.Context, by access.Who, id fleet.TargetID, a fleet.Ask) error {
	if a.What == fleet.AskFreeze {
		return h.Freeze(ctx, by, id, a.Because)
	}
	return h.Suspect(ctx, by, id, a.Because)
}

// Asks are those that wait for somebody, the oldest first.
func (h *Hub) Asks(context.Context) ([]document.Ask, error) {
	out := []document.Ask{}
	for _, a := range h.asks.values() {
		if t, _, ok := h.targets.get(string(a.Target)); ok && t.Standing == fleet.Active {
			out = append(out, document.Ask{Target: a.Target, Name: t.Name, What: a.What, Because: a.Because, At: a.At})
		}
	}
	slices.SortFunc(out, func(a, b document.Ask) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name), cmp.Compare(a.What, b.What))
	})
	return out, nil
}

// DecideAsk does what a target asked for, or does not.
func (h *Hub) DecideAsk(ctx context.Context, by access.Who, id fleet.TargetID, what fleet.AskKind, refuse bool, reason string) error {
	a, _, ok := h.asks.get(askKey(id, what))
	if !ok {
		return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find an ask of that target for %.40q", what), Hint: "Look at: fettle ask list"}
	}
	if refuse {
		h.note(ctx, fleet.HubEvent{Kind: fleet.Asked, Target: id, By: by.Name, Text: string(what) + " was refused", Error: reason})
	} else if err := h.grantAsk(ctx, by, id, a.Ask); err != nil {
		return err
	}
	return h.asks.remove(ctx, askKey(id, what))
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

// Trust takes the mark away. One that has none is no error.
func (h *Hub) Trust(ctx context.Context, by access.Who, id fleet.TargetID, reason string) error {
	err := h.edit(ctx, by, id, func(t *fleet.Target) error { t.Suspect = nil; return nil })
	return h.did(ctx, by, fleet.Trusted, id, "", reason, err)
}

// forgetAsks removes what a target asked for that is not one of the fleet any more.
func (h *Hub) forgetAsks(id fleet.TargetID) {
	h.asking.forget(id)
	for _, what := range fleet.AskKinds() {
		if _, _, waits := h.asks.get(askKey(id, what)); !waits {
			continue
		}
		if err := h.asks.remove(h.ctx, askKey(id, what)); err != nil && h.ctx.Err() == nil {
			h.warn("cannot forget what a target asked for: " + err.Error())
		}
	}
}
