package pki

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Withdraw permanently revokes a hub: its connections, its signatures, and the certificates that it
// issued to targets, which receive new ones by Renew. Revocations that it signed stay valid, since
// this hub signs them too. signer is the certificate of its signing key, nil if it is unknown.
// Withdraw may be called again after an error.
func (r *Registrar) Withdraw(ctx context.Context, hub string, signer *x509.Certificate, by, reason string) error {
	own, err := r.Hub.Name()
	if err != nil {
		return err
	}
	if signer != nil {
		if err := r.certifyFacts(ctx, signer); err != nil {
			return err
		}
	}
	name := Name{own.Fleet, HubKind, hub}
	if err := r.note(ctx, AuditRecord{By: by, Operation: "revoke", Text: name.String() + ": " + reason}); err != nil {
		return err
	}
	return r.Revoke(ctx, Revocation{Name: name.String(), By: by, Reason: reason})
}

// certifyFacts signs the revocations of another hub with the key of this hub.
func (r *Registrar) certifyFacts(ctx context.Context, signer *x509.Certificate) error {
	theirs, ok := signer.PublicKey.(ed25519.PublicKey)
	if !ok || r.Revocations == nil {
		return nil
	}
	keys, err := r.Hub.Keys([]*x509.Certificate{signer}, nil, r.Now())
	if err != nil {
		return err
	}
	for _, envelope := range r.Revocations.Envelopes() {
		if !signedBy(envelope, fleet.KeyID(theirs)) {
			continue
		}
		fact, err := OpenRevocation(envelope, keys)
		if err != nil {
			continue // the signer's certificate has expired, so the revocation is not accepted anyway
		}
		// Of two revocations of the same subject, the earlier one stays.
		fact.At--
		again, err := fact.Sign(r.Hub.SigningKey())
		if err != nil {
			return err
		}
		if _, err := r.RevocationStore.Put(ctx, fact.Key(), again); err != nil {
			return err
		}
		if _, err := r.Revocations.Add(again, keys); err != nil {
			return err
		}
	}
	return nil
}

// signedBy returns true if an envelope has a signature of the key. It does not verify the
// signature.
func signedBy(envelope []byte, keyID string) bool {
	var s fleet.Signed
	if json.Unmarshal(envelope, &s) != nil {
		return false
	}
	for _, sig := range s.Signatures {
		if sig.KeyID == keyID {
			return true
		}
	}
	return false
}

// peer returns the target that presents a certificate for renewal. A certificate of a revoked hub
// is accepted only here, and only if the registry has the target with this key: a thief of the
// hub's keys can make certificates, but does not have this key.
func (r *Registrar) peer(ctx context.Context, t Trust, chain []*x509.Certificate, now time.Time) (Peer, error) {
	at := earlier(now, chain[0].NotAfter)
	p, err := t.Verify(chain, at, TargetKind)
	if err == nil {
		return p, nil
	}
	no := refuse(forbidden, "%v", err)
	if !errors.Is(err, ErrRevoked) {
		return p, no
	}
	if p, err = t.verify(chain, at, ownStanding, TargetKind); err != nil {
		return p, no
	}
	known, err := load[fleet.Target](ctx, r.Targets, p.Name.ID)
	if err != nil {
		return p, err
	}
	if key, err := KeyDigest(p.Certificate.PublicKey); err != nil || known.rev == 0 || key != known.value.Key {
		return p, no
	}
	return p, nil
}
