package locks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/coordination"
)

// OnReboot answers a request of an agent about the lock that limits reboots. The connection has authenticated the
// target.
func (s *Locks) OnReboot(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := s.Trusted(ctx, from); err != nil {
		return nil, err
	}
	r, err := fleet.ParseRebootRequest(body)
	if err != nil {
		return nil, err
	}
	if ok, _ := s.limiter.Take(from, s.Now()); !ok {
		return nil, fmt.Errorf("cannot answer: the target sends more than %d requests, and then one in %s", requestBurst,
			requestInterval)
	}
	if err := s.MayChange(); err != nil {
		return nil, err
	}
	answer := fleet.RebootSlot{Lock: s.rebootLock()}
	switch {
	case r.Action == fleet.RebootRelease:
		e := coordination.Event{Kind: coordination.Release, Owner: string(from), Token: r.Token,
			Order: r.Order}
		if _, _, err = s.decide(ctx, r.Lock, e, order{}); errors.Is(err, ErrUnknown) {
			err = nil // the repository no longer declares the lock, and its last slot was released
		}
	case r.Action == fleet.RebootAcquire && answer.Lock != "" && r.Lock == answer.Lock:
		answer, err = s.slotForReboot(ctx, r, string(from))
	}
	if err != nil {
		return nil, err
	}
	answer.Exempt = r.Action != fleet.RebootRelease && s.exempt(from)
	return json.Marshal(answer)
}

// exempt reports whether an exemption lets a target reboot outside of its windows, by the clock of this hub.
func (s *Locks) exempt(id fleet.TargetID) bool {
	now := s.Now().Unix()
	return slices.ContainsFunc(s.Records.Exemptions.Values(), func(e assign.Exemption) bool { return e.Exempts(id, now) })
}

func (s *Locks) slotForReboot(ctx context.Context, r fleet.RebootRequest, owner string) (fleet.RebootSlot, error) {
	lock := r.Lock
	out := fleet.RebootSlot{Lock: lock}
	h, err := s.acquire(ctx, lock, owner, r.Order)
	refused := (*RefusedError)(nil)
	switch {
	case errors.As(err, &refused) && refused.Refused == coordination.Full:
		out.Why = "waits for a slot of the lock " + lock + s.heldBy(lock)
	case errors.As(err, &refused) && refused.Refused == coordination.Related:
		out.Why = "waits: " + refused.Why
	case errors.As(err, &refused):
		out.Why = refused.Why
	case err != nil:
		return out, err
	default:
		out.Granted, out.Token, out.Lease = true, h.Token, (h.Expires-h.Renewed)*1e6
	}
	return out, nil
}

// heldBy describes the first owners of slots, for example ", held by web1 since 2026-11-27T03:14:09Z".
func (s *Locks) heldBy(lock string) string {
	l, _, _ := s.Records.Locks.Get(lock)
	var out []string
	for _, h := range l.Holders[:min(len(l.Holders), shownNames)] {
		t, _, _ := s.Records.Targets.Get(h.Owner)
		out = append(out, cmp.Or(t.Name, h.Owner)+" since "+moment(h.Since))
	}
	if more := len(l.Holders) - len(out); more > 0 {
		out = append(out, fmt.Sprint(more, " more"))
	}
	if len(out) == 0 {
		return ""
	}
	return ", held by " + strings.Join(out, ", ")
}
