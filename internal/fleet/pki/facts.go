package pki

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// revoke signs that a target is not believed any more, and makes it known.
func (r *Registrar) revoke(ctx context.Context, id fleet.TargetID, by, reason string) error {
	own, err := r.Hub.Name()
	if err != nil {
		return err
	}
	return r.Revoke(ctx, Revocation{Name: Name{own.Fleet, TargetKind, string(id)}.String(), By: by, Reason: reason})
}

// Revoke signs a revocation of any serial or name as this hub, keeps it in Facts, and
// counts it here at once. To do it again is no error, and keeps the first one.
func (r *Registrar) Revoke(ctx context.Context, fact Revocation) error {
	own, err := r.Hub.Name()
	if err != nil {
		return err
	}
	fact.Fleet, fact.At = own.Fleet, r.Now().Unix()
	envelope, err := fact.Sign(r.Hub.SigningKey())
	if err != nil {
		return err
	}
	keys, err := r.Hub.Keys(nil, nil, r.Now())
	if err != nil {
		return err
	}
	return r.take(ctx, envelope, keys)
}

// Take believes facts that somebody carries, if a hub has signed them, keeps them in
// Facts, and counts them here at once. What is known costs nothing; what is not believed
// is left out and no error, for whoever carries it cannot help that.
func (r *Registrar) Take(ctx context.Context, envelopes [][]byte) error {
	signers, err := r.signers(ctx)
	if err != nil {
		return err
	}
	// Those of a hub that is revoked are not taken: its key may be a thief's.
	keys, err := r.Hub.Keys(signers, r.Revocations, r.Now())
	if err != nil {
		return err
	}
	for _, e := range envelopes {
		if r.Revocations.has(e) {
			continue
		}
		err := r.take(ctx, e, keys)
		if err != nil && !errors.Is(err, errNoFact) {
			return err
		}
	}
	return nil
}

// errNoFact is in the chain of the error about what is no fact, or not believed.
var errNoFact = errors.New("it is no fact of this fleet")

// take keeps a fact before it counts.
func (r *Registrar) take(ctx context.Context, envelope []byte, keys fleet.Keys) error {
	fact, err := OpenRevocation(envelope, keys)
	if err != nil {
		return fmt.Errorf("cannot take a revocation: %w: %w", err, errNoFact)
	}
	if _, err := r.Facts.Update(ctx, fact.Key(), envelope, 0); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot keep a revocation: %w", err)
	}
	if r.Revocations != nil {
		_, err = r.Revocations.Add(envelope, keys)
	}
	return err
}

// Follow counts the facts of a store, those that are there and those that come, until ctx
// ends. Each one that is new is told, so that connections can be ended; one that is not
// believed is told with its error. keys gives those that sign now, and is asked each time.
func (s *Revocations) Follow(ctx context.Context, facts fleet.Store, keys func() fleet.Keys, told func(Revocation, error)) error {
	each := func(e fleet.Entry) {
		if e.Gone || !strings.HasPrefix(e.Key, "revoked/") {
			return
		}
		known := s.has(e.Value)
		k := keys()
		news, err := s.Add(e.Value, k)
		if err != nil && !known {
			told(Revocation{}, fmt.Errorf("cannot believe %s of the facts: %w", e.Key, err))
		} else if news {
			r, err := OpenRevocation(e.Value, k)
			told(r, err)
		}
	}
	return facts.Watch(ctx, each, func() {})
}
