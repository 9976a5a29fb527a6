package keyring

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Follow applies the revocations of a store until ctx ends. After each of them it calls revoked.
func (k *Keyring) Follow(ctx context.Context, facts fleet.Store, revoked func(pki.Revocation)) error {
	keys := func() fleet.Keys {
		keys, err := k.SigningKeys()
		if err != nil {
			k.Warn(err.Error())
		}
		return keys
	}
	return k.Revoked.Follow(ctx, facts, keys, func(r pki.Revocation, err error) {
		if err != nil {
			k.Warn("cannot accept a revocation: " + err.Error())
			return
		}
		k.Forget()
		revoked(r)
	})
}

// IsRevoked reports whether the name of a target or one of its certificates is revoked.
func (k *Keyring) IsRevoked(t fleet.Target) bool {
	n := pki.Name{Fleet: k.Fleet, Kind: pki.TargetKind, ID: string(t.ID)}
	if k.Revoked.Revoked("", n) {
		return true
	}
	for _, serial := range t.Serials {
		if k.Revoked.Revoked(serial, n) {
			return true
		}
	}
	return false
}
