// Package keyring contains the keys that a hub trusts: the signing keys of all hubs, and the fleet CA
// for connections, both without revoked certificates.
//
//	k := keyring.New(keyring.Config{Own: keys, Revoked: revoked, Certificates: members.SignerCertificates, …})
//	keys, err := k.SigningKeys() // to verify assignments
//	trust, err := k.Trust()      // for TLS
//	go k.Follow(ctx, facts, disconnect)
//
// A hub without a record has no signing key here. If a certificate cannot be verified, SigningKeys
// returns an error and no keys. A revocation may be received several times. Nothing is stored: after an
// interruption, the next Keyring verifies all certificates again.
package keyring

import (
	"context"
	"crypto/x509"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Config contains what a Keyring needs of its hub.
type Config struct {
	Fleet   string // the name of the fleet
	Own     *pki.Hub
	Revoked *pki.Revocations
	// Certificates returns the certificates of the signing keys of all hubs.
	Certificates func(context.Context) ([]*x509.Certificate, error)
	Now          func() time.Time
	Warn         func(text string)
	Context      func() context.Context // ends with the hub
}

// validFor limits how long the keys of hubs are cached. Certificates are valid for months, and a
// revocation or a new hub empties the cache at once.
const validFor = time.Minute

// Keyring caches the signing keys of all hubs, and verified certificate paths. Without the cache,
// verifying certificates would cost more than the rest of the work on an assignment. It is safe for
// concurrent use: mu protects keys and at.
type Keyring struct {
	Config
	paths pki.Paths

	mu   sync.Mutex
	keys fleet.Keys
	at   time.Time
}

// New returns a keyring with empty caches.
func New(c Config) *Keyring { return &Keyring{Config: c} }

// Forget empties the cache of keys. The next use verifies all certificates again.
func (k *Keyring) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = nil
}

// SigningKeys returns the keys of all hubs of the fleet whose certificates are valid. The caller
// must not modify the result.
func (k *Keyring) SigningKeys() (fleet.Keys, error) {
	now := k.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := now.Sub(k.at); k.keys != nil && age >= 0 && age < validFor {
		return k.keys, nil
	}
	certs, err := k.Certificates(k.Context())
	if err != nil {
		return nil, err
	}
	keys, err := k.Own.Keys(certs, k.Revoked, now)
	if err == nil {
		k.keys, k.at = keys, now
	}
	return keys, err
}

// Trust returns the trust of this hub, with its cache of verified certificate paths.
func (k *Keyring) Trust() (pki.Trust, error) {
	t, err := k.Own.Trust(k.Revoked)
	t.Paths = &k.paths
	return t, err
}
