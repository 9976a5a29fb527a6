package pki

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// revoke signs and stores the revocation of a target.
func (r *Registrar) revoke(ctx context.Context, id fleet.TargetID, by, reason string) error {
	own, err := r.Hub.Name()
	if err != nil {
		return err
	}
	return r.Revoke(ctx, Revocation{Name: Name{own.Fleet, TargetKind, string(id)}.String(), By: by, Reason: reason})
}

// Revoke signs a revocation of a serial or a name as this hub, stores it in RevocationStore, and applies it
// to Revocations. If the subject is revoked already, the first revocation stays, without an error.
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
	return r.acceptRevocation(ctx, envelope, keys)
}

// AcceptRevocations accepts revocations that a target or hub delivers, if a hub has signed them: it stores them
// in RevocationStore and applies them to Revocations. Known ones are skipped. Invalid ones are skipped
// without an error, since the sender did not create them.
func (r *Registrar) AcceptRevocations(ctx context.Context, envelopes [][]byte) error {
	signers, err := r.signers(ctx)
	if err != nil {
		return err
	}
	// Revocations of a revoked hub are not accepted: its key may be stolen.
	keys, err := r.Hub.Keys(signers, r.Revocations, r.Now())
	if err != nil {
		return err
	}
	for _, e := range envelopes {
		if r.Revocations.has(e) {
			continue
		}
		err := r.acceptRevocation(ctx, e, keys)
		if err != nil && !errors.Is(err, errNoRevocation) {
			return err
		}
	}
	return nil
}

// errNoRevocation means that data is not a revocation, or that its signature is not valid.
var errNoRevocation = errors.New("it is not a revocation of this fleet")

// acceptRevocation stores a revocation before it applies it.
func (r *Registrar) acceptRevocation(ctx context.Context, envelope []byte, keys fleet.Keys) error {
	fact, err := OpenRevocation(envelope, keys)
	if err != nil {
		return fmt.Errorf("cannot accept a revocation: %w: %w", err, errNoRevocation)
	}
	if _, err := r.RevocationStore.Update(ctx, fact.Key(), envelope, 0); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot store a revocation: %w", err)
	}
	if r.Revocations != nil {
		_, err = r.Revocations.Add(envelope, keys)
	}
	return err
}

// Follow applies the revocations in a store, existing and new ones, until ctx ends. told is called
// for each new revocation, so that the caller can end connections, and with an error for an invalid
// one. keys returns the current signing keys of hubs; it is called for each revocation.
func (s *Revocations) Follow(ctx context.Context, facts fleet.Store, keys func() fleet.Keys,
	told func(Revocation, error)) error {
	each := func(e fleet.Entry) {
		if e.Gone || !strings.HasPrefix(e.Key, "revoked/") {
			return
		}
		known := s.has(e.Value)
		k := keys()
		news, err := s.Add(e.Value, k)
		if err != nil && !known {
			told(Revocation{}, fmt.Errorf("cannot accept the revocation %s: %w", e.Key, err))
		} else if news {
			r, err := OpenRevocation(e.Value, k)
			told(r, err)
		}
	}
	return facts.Watch(ctx, each, func() {})
}
