package pki_test

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// TestPaths: what is remembered of a certificate makes nobody believed who is revoked,
// whose time is over, who shows another issuer, or who is asked for as something else.
func TestPaths(t *testing.T) {
	h := newHub(t, newAuthority(t, "acme"), "hub1")
	revoked := &pki.Revocations{}
	trust := trustOf(t, h, revoked)
	trust.Paths = &pki.Paths{}
	key := newKey(t)
	id, err := pki.TargetIDOf(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := issuerOf(t, h).Target(key.Public(), id, pki.Claims{Name: "web1"}, start())
	if err != nil {
		t.Fatal(err)
	}
	chain := []*x509.Certificate{leaf, issuerOf(t, h).Certificate()}
	for range 2 {
		if p, err := trust.Verify(chain, start(), pki.TargetKind); err != nil || p.Name.ID != string(id) || p.Certificate != leaf {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	if _, err := trust.Verify(chain, leaf.NotAfter.Add(time.Second), pki.TargetKind); !errors.Is(err, pki.ErrExpired) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := trust.Verify(chain, leaf.NotBefore.Add(-time.Second), pki.TargetKind); err == nil {
		t.Error("believed before its beginning")
	}
	if _, err := trust.Verify(chain, start(), pki.HubKind, pki.PersonKind); err == nil {
		t.Error("a target is believed as something else")
	}
	other := newHub(t, newAuthority(t, "acme"), "hub1")
	if _, err := trust.Verify([]*x509.Certificate{leaf, issuerOf(t, other).Certificate()}, start(), pki.TargetKind); err == nil {
		t.Error("believed with the issuer of somebody else")
	}
	fact, err := pki.Revocation{Name: "fettle://acme/target/" + string(id), Fleet: "acme", At: 1, By: "ada"}.Sign(h.SigningKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := revoked.Add(fact, fleet.KeysOf(publicOf(h.SigningKey()))); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Verify(chain, start(), pki.TargetKind); !errors.Is(err, pki.ErrRevoked) {
		t.Errorf("revoked: %v", err)
	}
}
