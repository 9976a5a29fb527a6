package hub

import (
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// remembered is what a hub has seen to before, and does not see to again for each of very
// many agents. The zero value is ready.
type remembered struct {
	lists         lists
	labels        fleet.LabelPool // of the registry and of assignments
	sharedModules sharedModules
	reports       fleet.Decompressor
	told          told
	packer        packer
	ring          keyring
	paths         pki.Paths
	pins          pinned
	retryQueue    retryQueue

	redundancy redundancy
}

// believed is how long it is remembered which keys are. Certificates live for months, and
// what is revoked or new makes a hub look again at once.
const believed = time.Minute

// keyring remembers the keys of all hubs: to ask the authority's signatures of each
// assignment costs more than all else that is done with it. The zero value is ready.
type keyring struct {
	mu   sync.Mutex
	keys fleet.Keys
	at   time.Time
}

// forget has the keys looked at anew.
func (r *keyring) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = nil
}

// signingKeys are the keys of all hubs of the fleet, as the authority vouches for them.
// Nobody may change them.
func (h *Hub) signingKeys() (fleet.Keys, error) {
	r, now := &h.ring, h.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.at); r.keys != nil && age >= 0 && age < believed {
		return r.keys, nil
	}
	certs, err := h.signerCertificates(h.ctx)
	if err != nil {
		return nil, err
	}
	keys, err := h.keys.Keys(certs, h.revoked, now)
	if err == nil {
		r.keys, r.at = keys, now
	}
	return keys, err
}

// trust is what this hub believes, with what it has seen to already.
func (h *Hub) trust() (pki.Trust, error) {
	t, err := h.keys.Trust(h.revoked)
	t.Paths = &h.paths
	return t, err
}
