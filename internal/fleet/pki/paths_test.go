package pki_test

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// TestPaths: the cache of paths never makes a certificate valid that is revoked, expired, of
// another issuer, or of another kind.
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
		if p, err := trust.Verify(chain, start(), pki.TargetKind); err != nil || p.Name.ID != string(id) ||
			p.Certificate != leaf {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	if _, err := trust.Verify(chain, leaf.NotAfter.Add(time.Second), pki.TargetKind); !errors.Is(err, pki.ErrExpired) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := trust.Verify(chain, leaf.NotBefore.Add(-time.Second), pki.TargetKind); err != nil {
		t.Errorf("before its beginning: %v", err)
	}
	if _, err := trust.Verify(chain, leaf.NotAfter.Add(time.Second), pki.TargetKind); !errors.Is(err, pki.ErrExpired) {
		t.Errorf("after its end, and after it was verified: %v", err)
	}
	if _, err := trust.Verify(chain, start(), pki.HubKind, pki.UserKind); err == nil {
		t.Error("a target is believed as something else")
	}
	other := newHub(t, newAuthority(t, "acme"), "hub1")
	if _, err := trust.Verify([]*x509.Certificate{leaf, issuerOf(t, other).Certificate()}, start(),
		pki.TargetKind); err == nil {
		t.Error("believed with the issuer of somebody else")
	}
	fact, err := pki.Revocation{Name: "fettle://acme/target/" + string(id), Fleet: "acme", At: 1,
		By: "ada"}.Sign(h.SigningKey())
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

// TestKnownIssuers: the cache of issuers never makes a certificate valid that the issuer has not
// signed. The same holds if the issuer has expired, is revoked, or is not of a fleet CA of this
// fleet.
func TestKnownIssuers(t *testing.T) {
	h := newHub(t, newAuthority(t, "acme"), "hub1")
	revoked := &pki.Revocations{}
	trust := trustOf(t, h, revoked)
	trust.Paths = &pki.Paths{}
	issuer := issuerOf(t, h).Certificate()
	leaf := func(h *pki.Hub, name string) *x509.Certificate {
		t.Helper()
		key := newKey(t)
		id, err := pki.TargetIDOf(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		c, err := issuerOf(t, h).Target(key.Public(), id, pki.Claims{Name: name}, start())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range 3 { // each is new, and their issuer is not
		if _, err := trust.Verify([]*x509.Certificate{leaf(h, "web1"), issuer}, start(), pki.TargetKind); err != nil {
			t.Fatal(err)
		}
	}
	other := newHub(t, newAuthority(t, "acme"), "hub2")
	theirs, web := leaf(other, "web2"), leaf(h, "web3")
	for name, c := range map[string]struct {
		chain []*x509.Certificate
		at    time.Time
		kinds []pki.Kind
	}{
		"signed by another": {[]*x509.Certificate{theirs, issuer}, start(), []pki.Kind{pki.TargetKind}},
		"with its own issuer": {[]*x509.Certificate{theirs, issuerOf(t, other).Certificate()}, start(),
			[]pki.Kind{pki.TargetKind}},
		"with both": {[]*x509.Certificate{theirs, issuer, issuerOf(t, other).Certificate()}, start(),
			[]pki.Kind{pki.TargetKind}},
		"without one": {[]*x509.Certificate{web}, start(), []pki.Kind{pki.TargetKind}},
		"after its end": {[]*x509.Certificate{web, issuer}, web.NotAfter.Add(time.Second),
			[]pki.Kind{pki.TargetKind}},
		"after the issuer's end": {[]*x509.Certificate{web, issuer}, issuer.NotAfter.Add(time.Second),
			[]pki.Kind{pki.TargetKind}},
		"the issuer, as a target": {[]*x509.Certificate{issuer, issuer}, start(), []pki.Kind{pki.TargetKind}},
		"as a hub":                {[]*x509.Certificate{web, issuer}, start(), []pki.Kind{pki.HubKind, pki.UserKind}},
	} {
		if _, err := trust.Verify(c.chain, c.at, c.kinds...); err == nil {
			t.Errorf("%s: believed", name)
		}
	}
	n, err := pki.NameOf(issuer)
	if err != nil {
		t.Fatal(err)
	}
	fact, err := pki.Revocation{Name: n.String(), Fleet: "acme", At: 1, By: "ada"}.Sign(h.SigningKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := revoked.Add(fact, fleet.KeysOf(publicOf(h.SigningKey()))); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Verify([]*x509.Certificate{leaf(h, "web4"), issuer}, start(), pki.TargetKind); !errors.Is(err,
		pki.ErrRevoked) {
		t.Errorf("of an issuer that is revoked: %v", err)
	}
}
