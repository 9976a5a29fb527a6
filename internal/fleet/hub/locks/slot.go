package locks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
)

// OnSlot answers a request of an agent for a slot that a run needs. The connection has authenticated the target.
func (s *Locks) OnSlot(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := s.Trusted(ctx, from); err != nil {
		return nil, err
	}
	r, err := fleet.ParseSlotRequest(body)
	if err != nil {
		return nil, err
	}
	if ok, _ := s.runLimiter.Take(from, s.Now()); !ok {
		return nil, fmt.Errorf("cannot answer: the target sends more than %d requests, and then one in %s", runBurst,
			runInterval)
	}
	if err := s.MayChange(); err != nil {
		return nil, err
	}
	var out fleet.SlotAnswer
	switch r.Action {
	case fleet.SlotObserve:
		out, err = s.observe(ctx, r.Lock, string(from))
	case fleet.SlotRelease:
		e := coordination.Event{Kind: coordination.Release, Owner: string(from), Token: r.Token,
			Order: r.Order}
		_, _, err = s.decide(ctx, r.Lock, e, order{})
	default:
		out, err = s.slotForRun(ctx, r, string(from))
	}
	if errors.Is(err, ErrUnknown) {
		err, out = nil, fleet.SlotAnswer{Unknown: true, Why: "the fleet has no lock " + r.Lock}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// observe reports whether an owner would get a slot now. It changes nothing.
func (s *Locks) observe(ctx context.Context, lock, owner string) (fleet.SlotAnswer, error) {
	state, _, err := s.read(ctx, lock)
	if err != nil {
		return fleet.SlotAnswer{}, err
	}
	related, err := s.related(ctx, lock, owner)
	if err != nil {
		return fleet.SlotAnswer{}, err
	}
	now := s.Now().UnixMilli()
	next, a := coordination.Decide(state, coordination.Event{Kind: coordination.Acquire, Owner: owner, Related: related,
		Restored: s.restored(), Observed: s.see(state)}, now)
	if a.Refused == "" {
		return fleet.SlotAnswer{Free: true}, nil
	}
	out := fleet.SlotAnswer{Why: s.explain(next, a), Unknown: a.Refused == coordination.Undeclared}
	if a.Refused == coordination.Full {
		out.Why += s.heldBy(lock)
		if n := len(state.Waiting(now)); n > 0 {
			out.Why += fmt.Sprintf("; targets that wait: %d", n)
		}
	}
	return out, nil
}

func (s *Locks) slotForRun(ctx context.Context, r fleet.SlotRequest, owner string) (fleet.SlotAnswer, error) {
	lock := r.Lock
	h, err := s.acquire(ctx, lock, owner, r.Order)
	refused := (*RefusedError)(nil)
	declared, _, _ := s.Records.Locks.Get(lock)
	switch {
	case errors.As(err, &refused) && refused.Refused == coordination.Full:
		return fleet.SlotAnswer{Why: refused.Why + s.heldBy(lock), Wait: int64(declared.Wait)}, nil
	case errors.As(err, &refused):
		return fleet.SlotAnswer{Why: refused.Why, Wait: int64(declared.Wait),
			Unknown: refused.Refused == coordination.Undeclared}, nil
	case err != nil:
		return fleet.SlotAnswer{}, err
	}
	return fleet.SlotAnswer{Granted: true, Token: h.Token, Lease: (h.Expires - h.Renewed) * 1e6}, nil
}
