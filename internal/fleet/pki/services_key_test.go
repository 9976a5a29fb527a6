package pki

import (
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
)

// TestServicesKeyIsForServices: a certificate of another kind, key or hub cannot issue certificates
// of services.
func TestServicesKeyIsForServices(t *testing.T) {
	_, a := newRegistrar(t)
	files := mem.NewFS(mem.Options{})
	s, err := OpenServices(files, "/s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Certificate(); !errors.Is(err, ErrNoCertificates) || !s.RenewAt().IsZero() {
		t.Errorf("%v", err)
	}
	request, err := s.Request()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{HubKind, IssuerKind, SignerKind} {
		c, err := a.sign(issuerTemplate("acme"), Name{"acme", kind, "hub1"}, s.key.Public(), rulesNow)
		if err != nil {
			t.Fatal(err)
		}
		if s.Install(EncodeCertificates(a.cert, c)) == nil {
			t.Errorf("a certificate of a %s is installed", kind)
		}
	}
	install := func(hub string) error {
		certs, err := a.CertifyServices(request, hub, []string{"hub.example.org"}, rulesNow)
		if err != nil {
			t.Fatal(err)
		}
		return s.Install(certs)
	}
	if err := errors.Join(install("hub1"), install("hub1")); err != nil {
		t.Fatal(err)
	}
	if install("hub2") == nil {
		t.Error("the certificate of another hub is installed")
	}
	_, twin := newRegistrar(t)
	theirs, err := twin.CertifyServices(request, "hub1", nil, rulesNow)
	if err != nil || s.Install(theirs) == nil {
		t.Errorf("the certificate of another fleet CA is installed: %v", err)
	}
	_, edwards, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := newRequest(edwards)
	if err != nil {
		t.Fatal(err)
	}
	if certs, err := a.CertifyServices(wrong, "hub1", nil, rulesNow); err == nil || certs != nil {
		t.Error("a key of another type makes certificates of services")
	}
	other, err := OpenServices(mem.NewFS(mem.Options{}), "/s")
	if err != nil {
		t.Fatal(err)
	}
	text, err := files.Open("/s/services.pem")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	certs := make([]byte, 16<<10)
	n, _ := text.Read(certs)
	if other.Install(certs[:n]) == nil || s.Install(EncodeCertificates(a.cert)) == nil {
		t.Error("the certificate of another key is installed")
	}
	if c, err := s.Certificate(); err != nil || !s.RenewAt().Equal(RenewAt(c)) || !c.PermittedDNSDomainsCritical ||
		!slices.Equal(c.ExcludedDNSDomains, []string{"hub.example.org"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := a.CertifyServices(request, "A", nil, rulesNow); err == nil {
		t.Error("a hub without a name")
	}
	if _, err := a.CertifyServices(request, "hub1", []string{"a b"}, rulesNow); err == nil {
		t.Error("a host without a name")
	}
	names := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("a%02d.example.org", i))
		}
		return out
	}
	for n, good := range map[int]bool{0: false, 1: true, 16: true, 17: false} {
		if err := CheckServiceNames(names(n)); (err == nil) != good {
			t.Errorf("%d names: %v", n, err)
		}
	}
	checkService(t, s, a, names(1))
}

// checkService issues a certificate for names, and verifies it with other chains.
func checkService(t *testing.T, s *Services, a *CA, names []string) {
	t.Helper()
	key, err := NewServiceKey()
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Issue(key.key.Public(), names, rulesNow)
	if err != nil {
		t.Fatal(err)
	}
	parent, roots := s.certs[1], []*x509.Certificate{a.cert}
	straight, err := create(c, a.cert, key.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	for what, chain := range map[string][]*x509.Certificate{"alone": {c}, "twice": {c, c}, "three": {c, parent, a.cert},
		"the other way": {parent, c}, "the issuer as a service": {parent, parent},
		"straight from the fleet CA": {straight, parent}} {
		if VerifyService(chain, roots, rulesNow) == nil {
			t.Errorf("%s: believed", what)
		}
	}
	if _, err := key.ParseChain(EncodeCertificates(c, parent), names, roots); err != nil {
		t.Error(err)
	}
	other, err := NewServiceKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ParseChain(EncodeCertificates(c, parent), names, roots); err == nil {
		t.Error("taken for another key")
	}
	if _, err := key.ParseChain(EncodeCertificates(c, parent), append(names, "b"), roots); err == nil {
		t.Error("taken for other names")
	}
	if _, err := key.ParseChain([]byte("x"), names, roots); err == nil ||
		!strings.Contains(err.Error(), "cannot read certificates") {
		t.Errorf("%v", err)
	}
}
