package hub

import (
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
)

// remembered contains caches that spare a hub the same work for each of thousands of agents. The
// zero value is ready.
type remembered struct {
	lists         lists
	sharedModules sharedModules
	packer        records.Packer
	ring          keyring
	paths         pki.Paths
	pins          pinned
	retryQueue    limits.RetryQueue
}

// believed limits how long the keys of hubs are cached. Certificates are valid for months, and a
// revocation or a new hub empties the cache at once.
const believed = time.Minute

// keyring caches the signing keys of all hubs. Without it, verifying certificates would cost more
// than the rest of the work on an assignment. The zero value is ready.
type keyring struct {
	mu   sync.Mutex
	keys fleet.Keys
	at   time.Time
}

// forget empties the cache. The next use verifies all certificates again.
func (r *keyring) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = nil
}

// signingKeys returns the keys of all hubs of the fleet whose certificates are valid. The caller
// must not modify the result.
func (h *Hub) signingKeys() (fleet.Keys, error) {
	r, now := &h.ring, h.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.at); r.keys != nil && age >= 0 && age < believed {
		return r.keys, nil
	}
	certs, err := h.members.SignerCertificates(h.ctx)
	if err != nil {
		return nil, err
	}
	keys, err := h.keys.Keys(certs, h.revoked, now)
	if err == nil {
		r.keys, r.at = keys, now
	}
	return keys, err
}

// trust returns the trust of this hub, with its cache of verified certificate paths.
func (h *Hub) trust() (pki.Trust, error) {
	t, err := h.keys.Trust(h.revoked)
	t.Paths = &h.paths
	return t, err
}
