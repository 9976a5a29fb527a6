package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"
)

// signedAs returns a certificate with the name of a kind and some usages.
func signedAs(t *testing.T, kind Kind, parent *x509.Certificate, key crypto.Signer,
	usages ...x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	id := "hub1"
	if kind == TargetKind {
		id = strings.Repeat("a", 26)
	}
	own, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(7), ExtKeyUsage: usages,
		NotBefore: rulesNow.Add(-time.Hour), NotAfter: rulesNow.Add(time.Hour),
		URIs: []*url.URL{{Scheme: "fettle", Host: "acme", Path: "/" + string(kind) + "/" + id}}}
	if kind == IssuerKind || kind == ServicesKind {
		c.IsCA, c.BasicConstraintsValid = true, true
	}
	out, err := create(c, parent, own.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUsagesOfKinds: a certificate is trusted only for the usage of its kind, even if the CA of the fleet signed it. So
// a key that identifies a client never makes a server.
func TestUsagesOfKinds(t *testing.T) {
	r, a := newRegistrar(t)
	trust, err := r.Hub.Trust(nil)
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := r.Hub.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	for kind, right := range map[Kind]x509.ExtKeyUsage{HubKind: x509.ExtKeyUsageServerAuth,
		ServicesKind: x509.ExtKeyUsageServerAuth, IssuerKind: x509.ExtKeyUsageClientAuth,
		TargetKind: x509.ExtKeyUsageClientAuth, UserKind: x509.ExtKeyUsageClientAuth} {
		parent, key := a.cert, a.key
		if kind == TargetKind || kind == UserKind {
			parent, key = issuer.cert, issuer.key
		}
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
			x509.ExtKeyUsageCodeSigning, x509.ExtKeyUsageEmailProtection} {
			c := signedAs(t, kind, parent, key, usage)
			_, err := trust.Verify([]*x509.Certificate{c, issuer.cert}, rulesNow, kind)
			if (err == nil) != (usage == right) {
				t.Errorf("a %s with the usage %d: %v", kind, usage, err)
			}
		}
	}
}

// TestKeysOfTargets: certificates of targets and users have keys of the curve P-256. The life of a user is limited.
func TestKeysOfTargets(t *testing.T) {
	r, _ := newRegistrar(t)
	issuer, err := r.Hub.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	good, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P384(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  crypto.PublicKey
		life time.Duration
		ok   bool
	}{
		{good.Public(), time.Second, true}, {good.Public(), UserLife, true}, {good.Public(), UserLife + 1, false},
		{good.Public(), 0, false}, {good.Public(), -time.Hour, false}, {other.Public(), time.Hour, false},
		{r.Hub.SigningKey().Public(), time.Hour, false},
	} {
		if _, err := issuer.User(c.key, "ann", c.life, rulesNow); (err == nil) != c.ok {
			t.Errorf("%T for %s: %v", c.key, c.life, err)
		}
	}
}
