package pki

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Renew gives the target at the other end of a connection its next certificate, for the
// key that the connection proves. Name and labels are those of the registry. A target
// that was away for longer than Grace after the end of its certificate waits for
// approval. One that the registry has lost is written again, as its certificate says. One
// whose issuer is revoked has to be in the registry, with that key.
func (r *Registrar) Renew(ctx context.Context, s *tls.ConnectionState) (Answer, error) {
	p, err := r.caller(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	return r.renew(ctx, p)
}

// caller is the target at the other end of a connection, whose certificate may have ended.
func (r *Registrar) caller(ctx context.Context, s *tls.ConnectionState) (Peer, error) {
	trust, err := r.Hub.Trust(r.Revocations)
	if err != nil {
		return Peer{}, err
	}
	if s == nil || len(s.PeerCertificates) == 0 {
		return Peer{}, refuse(unauthorized, "cannot renew a certificate without showing it: enrol with a token first")
	}
	return r.peer(ctx, trust, s.PeerCertificates, r.Now())
}

func (r *Registrar) renew(ctx context.Context, p Peer) (Answer, error) {
	now := r.Now()
	if !r.renewals.allows(p.Name.ID, renewEvery, now) {
		return Answer{}, refuse(tooMany, "cannot renew the certificate of %s so often. Wait some minutes", p.Name.ID)
	}
	t, err := r.of(ctx, p, now)
	if err != nil {
		return Answer{}, err
	}
	if t, err = r.away(ctx, t, p, now); err != nil {
		return Answer{}, err
	}
	return r.answer(ctx, t, p.Certificate.PublicKey, Noted{By: "target " + p.Name.ID, What: "renew", Target: t.value.ID})
}

// of is the target of a certificate in the registry, to which its key has to belong.
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
		return t, refuse(forbidden, "cannot renew the certificate of %s: it is not of the key that enrolled. Enrol the host anew, with a new token", p.Name.ID)
	}
	return t, nil
}

// Rebuild writes a target that the registry does not have as its certificate says, and
// changes nothing for one that it has. It is for every target that connects to a hub
// whose store was lost. The peer is one that Trust.Verify believes.
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
		Serials: []string{p.Serial}, Enrolled: p.Certificate.NotBefore.Unix(), Changed: now.Unix(), By: "certificate " + p.Serial,
	}, now)
}

// absence is that a certificate ended so long ago that somebody has to approve its target.
type absence struct {
	Serial string `json:"serial"`
}

// away makes a target pending whose certificate ended too long ago, once for each such
// certificate: what is active after that was approved.
func (r *Registrar) away(ctx context.Context, t entry[fleet.Target], p Peer, now time.Time) (entry[fleet.Target], error) {
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
	text := fmt.Sprintf("its certificate ended at %s", ended.UTC().Format(time.RFC3339))
	if _, err := r.Stand(ctx, t.value.ID, fleet.Pending, "hub", text); err != nil {
		return t, err
	}
	if err := store(ctx, r.Names, key, absence{p.Serial}, seen.rev); err != nil {
		return t, err
	}
	return load[fleet.Target](ctx, r.Targets, string(t.value.ID))
}

// mayStand are the standings that a target may go to from each. Retired and Revoked are
// for ever: the host comes back as another target.
func mayStand(from, to fleet.Standing) bool {
	switch from {
	case fleet.Pending, fleet.Active:
		return to != "" && to != from
	}
	return false
}

// Stand changes the standing of a target: Active approves one that is pending, Retired
// and Revoked put it out for good, which is signed as a fact before anything else. To do
// it again is no error. Whoever calls ends the target's connections.
func (r *Registrar) Stand(ctx context.Context, id fleet.TargetID, to fleet.Standing, by, reason string) (fleet.Target, error) {
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
		if !mayStand(t.value.Standing, to) {
			return t.value, fmt.Errorf("cannot make the target %s %s: it is %s, and that is for ever. Enrol the host anew, with a new token", id, to, t.value.Standing)
		}
		if err := r.note(ctx, Noted{By: by, What: "standing", Target: id, Text: string(to) + ": " + reason}); err != nil {
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
