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

// Withdraw stops believing a hub, for ever: its connections, what it signs, and the
// certificates that it made for targets, who get others by Renew. What it revoked while it
// was believed stays revoked, since this hub signs it too. signer is the certificate of its
// signing key, nil for one that is not known. It may be called again after an error.
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
	if err := r.note(ctx, Noted{By: by, What: "revoke", Text: name.String() + ": " + reason}); err != nil {
		return err
	}
	return r.Revoke(ctx, Revocation{Name: name.String(), By: by, Reason: reason})
}

// certifyFacts signs anew what another hub revoked.
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
			continue // its certificate has ended: nobody believes it any more in any case
		}
		// Of two about the same the earlier one stays, everywhere.
		fact.At--
		again, err := fact.Sign(r.Hub.SigningKey())
		if err != nil {
			return err
		}
		if _, err := r.Facts.Put(ctx, fact.Key(), again); err != nil {
			return err
		}
		if _, err := r.Revocations.Add(again, keys); err != nil {
			return err
		}
	}
	return nil
}

// signedBy tells whether an envelope says that a key signed it. It proves nothing.
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

// peer is who shows a certificate that is to be renewed. One that a hub made which is not
// believed any more is good for this alone, and only for a target that the registry knows
// with this very key: whoever has that hub's keys can make certificates, and not the key.
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
