package pki_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// TestProfilesOfCertificates: each certificate has only the documented purposes, for the documented
// time.
func TestProfilesOfCertificates(t *testing.T) {
	a := newAuthority(t, "acme")
	h := newHub(t, a, "hub1")
	i := issuerOf(t, h)
	key := newKey(t).Public().(*ecdsa.PublicKey)
	id, err := pki.TargetIDOf(key)
	if err != nil {
		t.Fatal(err)
	}
	target, err1 := i.Target(key, id, pki.Claims{Name: "web1"}, start())
	person, err2 := i.User(key, "ada", pki.UserLife, start())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	services, service := servicesOf(t, a)
	client, server := x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	day := 24 * time.Hour
	for what, c := range map[string]struct {
		cert  *x509.Certificate
		ca    bool
		usage x509.KeyUsage
		ext   []x509.ExtKeyUsage
		life  time.Duration
	}{
		"authority": {a.Certificate(), true, x509.KeyUsageCertSign | x509.KeyUsageCRLSign, nil, 7300 * day},
		"hub":       {leafOf(t, h), false, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{server, client}, 365 * day},
		"issuer":    {i.Certificate(), true, x509.KeyUsageCertSign, []x509.ExtKeyUsage{client}, 365 * day},
		"signer":    {signerOf(t, h), false, x509.KeyUsageDigitalSignature, nil, 365 * day},
		"target":    {target, false, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{client}, day},
		"services":  {services, true, x509.KeyUsageCertSign | x509.KeyUsageCRLSign, []x509.ExtKeyUsage{server}, 365 * day},
		"service":   {service, false, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{server}, 30 * day},
		"person":    {person, false, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{client}, 90 * day},
	} {
		begin := start().Add(-5 * time.Minute)
		if parentBegin := a.Certificate().NotBefore; parentBegin.After(begin) {
			begin = parentBegin
		}
		if c.cert.IsCA != c.ca || c.cert.KeyUsage != c.usage || !slices.Equal(c.cert.ExtKeyUsage, c.ext) ||
			!c.cert.NotBefore.Equal(begin) || !c.cert.NotAfter.Equal(start().Add(c.life)) ||
			c.cert.SerialNumber.BitLen() < 64 || c.cert.SerialNumber.BitLen() > 128 {
			t.Errorf("%s: %t %v %v from %s to %s", what, c.cert.IsCA, c.cert.KeyUsage, c.cert.ExtKeyUsage, c.cert.NotBefore,
				c.cert.NotAfter)
		}
		if c.cert == services {
			if !c.cert.PermittedDNSDomainsCritical || !c.cert.MaxPathLenZero ||
				!slices.Contains(c.cert.ExcludedURIDomains, "acme") {
				t.Errorf("%s: it is for %v", what, c.cert.ExcludedURIDomains)
			}
			continue
		}
		if c.ca != (len(c.cert.PermittedURIDomains) == 1 && c.cert.PermittedDNSDomainsCritical &&
			c.cert.BasicConstraintsValid) {
			t.Errorf("%s: it is for %v", what, c.cert.PermittedURIDomains)
		}
	}
	if n := a.Certificate(); n.MaxPathLen != 1 || !i.Certificate().MaxPathLenZero ||
		len(i.Certificate().ExcludedIPRanges) != 2 || len(i.Certificate().ExcludedDNSDomains) != 1 {
		t.Error("an issuer can make issuers, or certificates for hosts")
	}
	for _, n := range i.Certificate().ExcludedIPRanges {
		if ones, _ := n.Mask.Size(); ones != 0 {
			t.Errorf("an issuer can make certificates for addresses outside of %s", n)
		}
	}
	if _, err := i.User(key, "ada", pki.UserLife+1, start()); err == nil {
		t.Error("a person gets a longer life")
	}
	if _, err := i.User(key, "ada", 0, start()); err == nil {
		t.Error("a person gets no life")
	}
	late := start().Add(365*day - time.Hour)
	if last, err := i.Target(key, id, pki.Claims{Name: "web1"}, late); err != nil ||
		!last.NotAfter.Equal(i.Certificate().NotAfter) {
		t.Errorf("a certificate that outlives its issuer: %v", err)
	}
	if _, err := i.Target(key, id, pki.Claims{Name: "web1"}, start().Add(365*day)); err == nil {
		t.Error("an issuer that has ended makes certificates")
	}
}

// servicesOf returns the certificate of a service issuer, and a certificate that it made.
func servicesOf(t *testing.T, a *pki.CA) (services, service *x509.Certificate) {
	t.Helper()
	s, err := pki.OpenServices(mem.NewFS(mem.Options{}), "/services")
	if err != nil {
		t.Fatal(err)
	}
	request, err := s.Request()
	if err != nil {
		t.Fatal(err)
	}
	certs, err := a.CertifyServices(request, "hub1", nil, start())
	if err == nil {
		err = s.Install(certs)
	}
	if err != nil {
		t.Fatal(err)
	}
	services, err1 := s.Certificate()
	service, err2 := s.Issue(newKey(t).Public(), []string{"web.example.org"}, start())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return services, service
}

// TestKeysWithoutAName: a key of an unsupported type has no digest and no target.
func TestKeysWithoutAName(t *testing.T) {
	if digest, err := pki.KeyDigest("text"); err == nil || digest != "" {
		t.Errorf("it has the digest %q: %v", digest, err)
	}
	if id, err := pki.TargetIDOf("text"); err == nil || id != "" {
		t.Errorf("it names the target %q: %v", id, err)
	}
}
