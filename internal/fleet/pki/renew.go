package pki

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Renew issues the next certificate to the target at the other end of a connection, for the key
// that the connection proves. Its name and labels are taken from the registry. A target whose
// certificate expired longer than Grace ago becomes pending. A target that the registry has lost is
// stored again, from its certificate. If the issuer of the certificate is revoked, the registry
// must have the target with this key.
func (r *Registrar) Renew(ctx context.Context, s *tls.ConnectionState) (Answer, error) {
	p, err := r.caller(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	return r.renew(ctx, p)
}

// caller returns the target at the other end of a connection. Its certificate may have expired.
func (r *Registrar) caller(ctx context.Context, s *tls.ConnectionState) (Peer, error) {
	trust, err := r.Hub.Trust(r.Revocations)
	if err != nil {
		return Peer{}, err
	}
	if s == nil || len(s.PeerCertificates) == 0 {
		return Peer{}, refuse(unauthorized, "cannot renew a certificate: the connection has none. Enrol with a token first")
	}
	return r.peer(ctx, trust, s.PeerCertificates, r.Now())
}

func (r *Registrar) renew(ctx context.Context, p Peer) (Answer, error) {
	now := r.Now()
	if !r.renewals.allows(p.Name.ID, renewEvery, now) {
		return Answer{}, refuse(tooMany, "cannot renew the certificate of %s so often. Wait a few minutes", p.Name.ID)
	}
	t, err := r.of(ctx, p, now)
	if err != nil {
		return Answer{}, err
	}
	if t, err = r.away(ctx, t, p, now); err != nil {
		return Answer{}, err
	}
	return r.answer(ctx, t, p.Certificate.PublicKey,
		AuditRecord{By: "target " + p.Name.ID, Operation: "renew", Target: t.value.ID})
}

// of returns the target of a certificate in the registry. The target must have the same key.
func (r *Registrar) of(ctx context.Context, p Peer, now time.Time) (entry[fleet.Target], error) {
	t, err := load[fleet.Target](ctx, r.Targets, p.Name.ID)
	if err != nil {
		return t, err
	}
	key, err := KeyDigest(p.Certificate.PublicKey)
	if err != nil {
		return t, err
	}
	if t.rev == 0 {
		return r.rebuild(ctx, p, key, now)
	}
	if t.value.Key != key {
		return t, refuse(forbidden,
			"cannot renew the certificate of %s: its key is not the key that enrolled. Enrol the host again with a new token",
			p.Name.ID)
	}
	return t, nil
}

// Rebuild stores a target from its certificate if the registry does not have it; otherwise it
// changes nothing. It is called for each target that connects, so that a hub rebuilds a lost store.
// Trust.Verify must have accepted the peer.
func (r *Registrar) Rebuild(ctx context.Context, p Peer) (fleet.Target, error) {
	t, err := r.of(ctx, p, r.Now())
	return t.value, err
}

func (r *Registrar) rebuild(ctx context.Context, p Peer, key string, now time.Time) (entry[fleet.Target], error) {
	c, err := ClaimsOf(p.Certificate)
	if err != nil {
		return entry[fleet.Target]{}, err
	}
	return r.register(ctx, fleet.Target{
		ID: fleet.TargetID(p.Name.ID), Name: c.Name, Labels: c.Labels, Fleet: c.Fleet, Standing: fleet.Active, Key: key,
		Serials: []string{p.Serial}, Enrolled: p.Certificate.NotBefore.Unix(), Changed: now.Unix(),
		By: "certificate " + p.Serial,
	}, now)
}

// absence records the expired certificate because of which a target must be approved.
type absence struct {
	Serial string `json:"serial"`
}

// away makes a target pending if its certificate expired too long ago. It does so only once for
// each certificate, since an active target has been approved later.
func (r *Registrar) away(ctx context.Context, t entry[fleet.Target], p Peer,
	now time.Time) (entry[fleet.Target], error) {
	grace := r.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	ended := p.Certificate.NotAfter
	if t.value.Standing != fleet.Active || !now.After(ended.Add(grace)) {
		return t, nil
	}
	key := "away/" + p.Name.ID
	seen, err := load[absence](ctx, r.Names, key)
	if err != nil || seen.value.Serial == p.Serial {
		return t, err
	}
	text := fmt.Sprintf("its certificate expired at %s", ended.UTC().Format(time.RFC3339))
	if _, err := r.SetStanding(ctx, t.value.ID, fleet.Pending, "hub", text); err != nil {
		return t, err
	}
	if err := store(ctx, r.Names, key, absence{p.Serial}, seen.rev); err != nil {
		return t, err
	}
	return load[fleet.Target](ctx, r.Targets, string(t.value.ID))
}

// mayChangeStanding returns true if a standing may change from one value to another. Retired and Revoked are
// permanent: the host can enrol again as another target.
func mayChangeStanding(from, to fleet.Standing) bool {
	switch from {
	case fleet.Pending, fleet.Active:
		return to != "" && to != from
	}
	return false
}

// SetStanding changes the standing of a target. Active approves a pending target. Retired and Revoked are
// permanent; a revocation is signed and stored before the standing changes. If the target has the
// standing already, nothing changes, without an error. The caller must end the target's
// connections.
func (r *Registrar) SetStanding(ctx context.Context, id fleet.TargetID, to fleet.Standing, by,
	reason string) (fleet.Target, error) {
	for {
		t, err := load[fleet.Target](ctx, r.Targets, string(id))
		if err != nil {
			return fleet.Target{}, err
		}
		if t.rev == 0 {
			return fleet.Target{}, fmt.Errorf("cannot find the target %s: %w", id, fleet.ErrNotFound)
		}
		if t.value.Standing == to {
			return t.value, nil
		}
		if !mayChangeStanding(t.value.Standing, to) {
			return t.value, fmt.Errorf(
				"cannot make the target %s %s: it is %s permanently. Enrol the host again with a new token",
				id, to, t.value.Standing)
		}
		if err := r.note(ctx, AuditRecord{By: by, Operation: "standing", Target: id,
			Text: string(to) + ": " + reason}); err != nil {
			return t.value, err
		}
		if to == fleet.Retired || to == fleet.Revoked {
			if err := r.revoke(ctx, id, by, reason); err != nil {
				return t.value, err
			}
		}
		v := t.value
		v.Standing, v.Changed, v.By = to, r.Now().Unix(), by
		if err := store(ctx, r.Targets, string(id), v, t.rev); !errors.Is(err, fleet.ErrConflict) {
			return v, err
		}
	}
}
