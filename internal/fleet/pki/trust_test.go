package pki_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func issuerOf(t *testing.T, h *pki.Hub) *pki.Issuer {
	t.Helper()
	i, err := h.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func trustOf(t *testing.T, h *pki.Hub, r *pki.Revocations) pki.Trust {
	t.Helper()
	trust, err := h.Trust(r)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func leafOf(t *testing.T, h *pki.Hub) *x509.Certificate {
	t.Helper()
	c, err := h.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}

// forge signs a certificate by hand, like a thief of a key.
func forge(t *testing.T, name string, parent *x509.Certificate, signer *ecdsa.PrivateKey,
	change func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	u, err := url.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "forged"}, URIs: []*url.URL{u},
		NotBefore: start().Add(-time.Hour), NotAfter: start().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, newKey(t).Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const someTarget = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

// With the issuing key of a hub, a thief can make targets and users of its fleet, and nothing more.
func TestStolenIssuingKey(t *testing.T) {
	h := newHub(t, newAuthority(t, "acme"), "hub1")
	trust := trustOf(t, h, nil)
	issuer := issuerOf(t, h)
	key := pki.IssuingKey(h)
	every := []pki.Kind{pki.HubKind, pki.SignerKind, pki.IssuerKind, pki.TargetKind, pki.UserKind}
	good := forge(t, "fettle://acme/target/"+someTarget, issuer.Certificate(), key,
		func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] })
	if _, err := trust.Verify([]*x509.Certificate{good, issuer.Certificate()}, start(), every...); err != nil {
		t.Fatalf("the way of forging does not work: %v", err)
	}
	cases := map[string]struct {
		name   string
		change func(*x509.Certificate)
	}{
		"a hub":    {"fettle://acme/hub/hub1", nil},
		"a signer": {"fettle://acme/signer/hub1", nil},
		"an issuer": {"fettle://acme/issuer/hub1",
			func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }},
		"another fleet": {"fettle://zeta/target/" + someTarget, nil},
		"a server's name": {"fettle://acme/target/" + someTarget,
			func(c *x509.Certificate) { c.DNSNames = []string{"hub.example.org"} }},
		"two names": {"fettle://acme/target/" + someTarget, func(c *x509.Certificate) {
			c.URIs = append(c.URIs, &url.URL{Scheme: "fettle", Host: "acme", Path: "/person/ada"})
		}},
		"a path in the name": {"fettle://acme/person/a%2Fb", nil},
		"a query":            {"fettle://acme/person/ada?x", nil},
		"a user":             {"fettle://root@acme/person/ada", nil},
		"an authority": {"fettle://acme/target/" + someTarget,
			func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }},
	}
	for what, c := range cases {
		cert := forge(t, c.name, issuer.Certificate(), key, c.change)
		if p, err := trust.Verify([]*x509.Certificate{cert, issuer.Certificate()}, start(), every...); err == nil {
			t.Errorf("%s is believed as %s", what, p.Name)
		}
	}
}

// A chain has one fleet and one fleet CA, and each certificate has its own kind only.
func TestForeignCertificates(t *testing.T) {
	ours, theirs := newAuthority(t, "acme"), newAuthority(t, "zeta")
	twin := newAuthority(t, "acme")
	h := newHub(t, ours, "hub1")
	trust := trustOf(t, h, nil)
	for what, other := range map[string]*pki.Hub{"another fleet": newHub(t, theirs, "hub1"),
		"another authority": newHub(t, twin, "hub1")} {
		if _, err := trust.Verify([]*x509.Certificate{leafOf(t, other), authorityOf(t, other)}, start(),
			pki.HubKind); err == nil {
			t.Errorf("a hub of %s is believed", what)
		}
	}
	signer, err := h.Signer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Verify([]*x509.Certificate{signer}, start(), pki.HubKind); err == nil {
		t.Error("a signer is believed as a hub")
	}
	if _, err := trust.Verify([]*x509.Certificate{leafOf(t, h)}, start(), pki.TargetKind, pki.UserKind); err == nil {
		t.Error("a hub is believed as a target")
	}
	if _, err := trust.Verify(nil, start(), pki.HubKind); err == nil {
		t.Error("nobody is believed")
	}
	if len(pki.SigningKeys(trust, []*x509.Certificate{signer, leafOf(t, h), issuerOf(t, h).Certificate()}, start())) != 1 {
		t.Error("the keys of a hub that sign are not exactly its signer's")
	}
}

func authorityOf(t *testing.T, h *pki.Hub) *x509.Certificate {
	t.Helper()
	c, err := h.Authority()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A revoked hub loses its keys and all certificates that it issued; a revoked serial only that
// certificate.
func TestRevokedHubs(t *testing.T) {
	a := newAuthority(t, "acme")
	bad, good := newHub(t, a, "bad"), newHub(t, a, "good")
	revoked := &pki.Revocations{}
	trust := trustOf(t, good, revoked)
	key := newKey(t)
	id, err := pki.TargetIDOf(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	target, err := issuerOf(t, bad).Target(key.Public(), id, pki.Claims{Name: "web1"}, start())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := bad.Signer()
	if err != nil {
		t.Fatal(err)
	}
	chains := map[pki.Kind][]*x509.Certificate{
		pki.HubKind: {leafOf(t, bad)}, pki.SignerKind: {signer}, pki.TargetKind: {target, issuerOf(t, bad).Certificate()},
	}
	for kind, chain := range chains {
		if _, err := trust.Verify(chain, start(), kind); err != nil {
			t.Errorf("%s before: %v", kind, err)
		}
	}
	fact, err := pki.Revocation{Name: "fettle://acme/hub/bad", Fleet: "acme", At: 1, By: "ada"}.Sign(good.SigningKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := revoked.Add(fact, fleet.KeysOf(publicOf(bad.SigningKey()))); err == nil {
		t.Error("a fact that nobody signed is taken")
	}
	if news, err := revoked.Add(fact, fleet.KeysOf(publicOf(good.SigningKey()))); err != nil || !news {
		t.Fatal(news, err)
	}
	for kind, chain := range chains {
		if _, err := trust.Verify(chain, start(), kind); !errors.Is(err, pki.ErrRevoked) {
			t.Errorf("%s after: %v", kind, err)
		}
	}
	if _, err := trust.Verify([]*x509.Certificate{leafOf(t, good)}, start(), pki.HubKind); err != nil {
		t.Errorf("the other hub: %v", err)
	}
}

// The names of kinds are stable, and String and ParseName are inverse.
func TestNames(t *testing.T) {
	for _, good := range []string{"fettle://acme/hub/hub1", "fettle://acme/target/" + someTarget,
		"fettle://acme/person/ada+ci@example.org", "fettle://a-1/issuer/h"} {
		if n, err := pki.ParseName(good); err != nil || n.String() != good {
			t.Errorf("%s: %v, %v", good, n, err)
		}
	}
	for _, bad := range []string{"", "fettle://acme", "fettle://acme/hub/", "fettle://Acme/hub/h",
		"fettle://acme/root/h", "fettle://acme/target/web1", "fettle://acme/person/../x", "fettle://acme/person/a/b",
		"https://acme/hub/h", "fettle://acme/person/-", "fettle://acme:1/hub/h",
		"fettle://acme/hub/" + strings.Repeat("h", 64)} {
		if n, err := pki.ParseName(bad); err == nil {
			t.Errorf("%q is read as %v", bad, n)
		}
	}
}
