package locks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
)

// leave frees the slots of targets that left the fleet. A retired target frees them immediately. A revoked target may
// still work, so its slots remain taken until the leases have ended. A target without an entry in the registry can
// return with its certificate, so it keeps its slots.
func (s *Locks) leave(ctx context.Context, l coordination.State) error {
	var errs []error
	seen := s.see(l)
	for _, h := range slices.Concat(l.Holders, l.Lost) {
		standing, err := s.standing(ctx, h.Owner)
		e := coordination.Event{Kind: coordination.Leave, Owner: h.Owner, Token: h.Token, Working: standing != fleet.Retired,
			Observed: seen}
		_, a := coordination.Decide(l, e, s.Now().UnixMilli())
		released := func(c coordination.Change) bool { return c.Kind == coordination.Released }
		lost := slices.Contains(l.Lost, h)
		if err == nil && (standing == fleet.Retired || standing == fleet.Revoked) &&
			(lost || slices.ContainsFunc(a.Changes, released)) {
			_, _, err = s.decide(ctx, l.Name, e, order{why: fmt.Sprintf("the target was %s", standing)})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// standing returns the standing of an owner, or "" if the registry has no entry. The mirror of this hub may be
// outdated, so it is only used to recognize targets that did not leave.
func (s *Locks) standing(ctx context.Context, owner string) (fleet.Standing, error) {
	if t, _, ok := s.Records.Targets.Get(owner); !ok || t.Standing != fleet.Retired && t.Standing != fleet.Revoked {
		return "", nil
	}
	e, err := s.Records.Targets.Newest(ctx, owner)
	if errors.Is(err, fleet.ErrNotFound) {
		return "", nil
	}
	var t fleet.Target
	if err == nil {
		err = json.Unmarshal(e.Value, &t)
	}
	return t.Standing, err
}
