package keyring

import (
	"crypto/ed25519"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// TestIsRevoked: a target is revoked by its name, or by one of its certificates.
func TestIsRevoked(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	k := New(Config{Fleet: "acme", Revoked: &pki.Revocations{}})
	name := pki.Name{Fleet: "acme", Kind: pki.TargetKind, ID: "aaaaaaaaaaaaaaaaaaaaaaaaaa"}
	for _, r := range []pki.Revocation{{Name: name.String(), Fleet: "acme"}, {Serial: "0b", Fleet: "acme"}} {
		envelope, err := r.Sign(key)
		if err == nil {
			_, err = k.Revoked.Add(envelope, fleet.KeysOf(public))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		target  fleet.Target
		revoked bool
	}{
		{fleet.Target{ID: fleet.TargetID(name.ID)}, true},
		{fleet.Target{ID: "b", Serials: []string{"0a", "0b"}}, true},
		{fleet.Target{ID: "b", Serials: []string{"0a"}}, false},
		{fleet.Target{ID: "b"}, false},
	} {
		if got := k.IsRevoked(c.target); got != c.revoked {
			t.Errorf("%s with the certificates %q: revoked %v", c.target.ID, c.target.Serials, got)
		}
	}
}
