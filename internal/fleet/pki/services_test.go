package pki_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

var servicesNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// newServices returns the service issuer of hub1 of acme, with its fleet CA.
func newServices(t *testing.T) (*pki.Services, *pki.CA) {
	t.Helper()
	files := mem.New(mem.Options{})
	authority, err := pki.NewCA(files, "/authority", "acme", servicesNow)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pki.OpenServices(files, "/keys")
	if err != nil {
		t.Fatal(err)
	}
	request, err := s.Request()
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := authority.CertifyServices(request, "hub1", []string{"hub.example.org", "192.0.2.7"}, servicesNow)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Install(certificates); err != nil {
		t.Fatal(err)
	}
	again, err := pki.OpenServices(files, "/keys")
	if err != nil {
		t.Fatal(err)
	}
	return again, authority
}

func curveKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The certificate of a service is valid for its names, for all clients that trust the fleet CA. It
// is not a name of the fleet.
func TestServiceCertificate(t *testing.T) {
	s, authority := newServices(t)
	parent, err := s.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	key, err := pki.NewServiceKey()
	if err != nil {
		t.Fatal(err)
	}
	request, _ := key.Request()
	public, err := pki.ParseRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"2001:db8::1", "web3.example.org"}
	c, err := s.Issue(public, names, servicesNow)
	if err != nil {
		t.Fatal(err)
	}
	text := pki.EncodeCertificates(c, parent)
	roots := []*x509.Certificate{authority.Certificate()}
	if _, err := key.ParseChain(text, names, roots); err != nil {
		t.Error(err)
	}
	for _, other := range [][]string{{"web3.example.org"}, {"2001:db8::1", "web4.example.org"}, nil} {
		if _, err := key.ParseChain(text, other, roots); err == nil {
			t.Errorf("it is taken for %v", other)
		}
	}
	if other, _ := pki.NewServiceKey(); true {
		if _, err := other.ParseChain(text, names, roots); err == nil {
			t.Error("it is taken for another key")
		}
	}
	if _, foreign := newServices(t); true {
		if _, err := key.ParseChain(text, names, []*x509.Certificate{foreign.Certificate()}); err == nil {
			t.Error("it is taken of another authority")
		}
	}
	if life := c.NotAfter.Sub(servicesNow); life != pki.ServiceLife || c.IsCA || len(c.URIs) > 0 ||
		c.KeyUsage != x509.KeyUsageDigitalSignature ||
		!slices.Equal(c.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("%s %+v", life, c)
	}
	for _, kind := range []pki.Kind{pki.HubKind, pki.SignerKind, pki.IssuerKind, pki.TargetKind, pki.UserKind,
		pki.ServicesKind} {
		if _, err := (pki.Trust{Fleet: "acme", Authorities: roots}).Verify([]*x509.Certificate{c, parent}, servicesNow,
			kind); err == nil {
			t.Errorf("it is believed as a %s", kind)
		}
		if _, err := (pki.Trust{Fleet: "acme", Authorities: roots}).Verify([]*x509.Certificate{parent}, servicesNow,
			kind); (err == nil) != (kind == pki.ServicesKind) {
			t.Errorf("what made it is a %s: %v", kind, err)
		}
	}
}

// A stolen key of a service issuer can make certificates of servers only: not of hubs, targets,
// users or issuers, and not for the hub's own name.
func TestStolenServicesKey(t *testing.T) {
	s, authority := newServices(t)
	parent, err := s.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	thief := pki.ServicesKey(s)
	roots := []*x509.Certificate{authority.Certificate()}
	trust := pki.Trust{Fleet: "acme", Authorities: roots}
	make1 := func(t *testing.T, c *x509.Certificate, key crypto.PublicKey) *x509.Certificate {
		t.Helper()
		c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(7), servicesNow.Add(-time.Hour), servicesNow.Add(time.Hour)
		c.BasicConstraintsValid = true
		der, err := x509.CreateCertificate(rand.Reader, c, parent, key, thief)
		if err != nil {
			t.Fatal(err)
		}
		out, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, name := range []string{"hub/hub1", "signer/hub1", "issuer/hub1", "services/hub1",
		"target/aaaaaaaaaaaaaaaaaaaaaaaaaa", "person/root"} {
		u, _ := url.Parse("fettle://acme/" + name)
		_, signing, _ := ed25519.GenerateKey(rand.Reader)
		for what, key := range map[string]crypto.PublicKey{"P-256": curveKey(t).Public(), "ed25519": signing.Public()} {
			for _, ca := range []bool{false, true} {
				c := make1(t, &x509.Certificate{URIs: []*url.URL{u}, IsCA: ca,
					KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: both,
					DNSNames: []string{"web.example.org"}}, key)
				for _, kind := range []pki.Kind{pki.HubKind, pki.SignerKind, pki.IssuerKind, pki.ServicesKind, pki.TargetKind,
					pki.UserKind} {
					if _, err := trust.Verify([]*x509.Certificate{c, parent}, servicesNow, kind); err == nil {
						t.Errorf("%s with %s, CA %v, is a %s", name, what, ca, kind)
					}
				}
				if err := pki.VerifyService([]*x509.Certificate{c, parent}, roots, servicesNow); err == nil {
					t.Errorf("%s is a service", name)
				}
				// Other programs refuse it as well.
				if verifies(c, parent, roots) == nil {
					t.Errorf("%s with %s, CA %v, is believed by others", name, what, ca)
				}
			}
		}
	}
	for what, c := range map[string]*x509.Certificate{
		"the hub's name":    {DNSNames: []string{"hub.example.org"}, ExtKeyUsage: both},
		"below that":        {DNSNames: []string{"a.hub.example.org"}, ExtKeyUsage: both},
		"the hub's address": {IPAddresses: []net.IP{net.ParseIP("192.0.2.7")}, ExtKeyUsage: both},
		"mail":              {EmailAddresses: []string{"root@example.org"}, ExtKeyUsage: both},
	} {
		if verifies(make1(t, c, curveKey(t).Public()), parent, roots) == nil {
			t.Errorf("%s is believed", what)
		}
	}
	// It cannot make an issuer.
	key := curveKey(t)
	middle := make1(t, &x509.Certificate{IsCA: true, KeyUsage: x509.KeyUsageCertSign,
		Subject: pkix.Name{CommonName: "more"}}, key.Public())
	leaf := &x509.Certificate{SerialNumber: big.NewInt(8), NotBefore: middle.NotBefore, NotAfter: middle.NotAfter,
		DNSNames: []string{"x.example.org"}, ExtKeyUsage: both}
	der, err := x509.CreateCertificate(rand.Reader, leaf, middle, curveKey(t).Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := x509.ParseCertificate(der)
	pool := x509.NewCertPool()
	pool.AddCert(parent)
	pool.AddCert(middle)
	if _, err := end.Verify(x509.VerifyOptions{Roots: poolOf(roots...), Intermediates: pool,
		CurrentTime: servicesNow}); err == nil {
		t.Error("what it made makes more")
	}
	client := make1(t, &x509.Certificate{DNSNames: []string{"x.example.org"}, ExtKeyUsage: both}, curveKey(t).Public())
	if _, err := client.Verify(x509.VerifyOptions{Roots: poolOf(roots...), Intermediates: poolOf(parent),
		CurrentTime: servicesNow, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
		t.Error("it is a client")
	}
}

func poolOf(certs ...*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c)
	}
	return p
}

func verifies(c, parent *x509.Certificate, roots []*x509.Certificate) error {
	_, err := c.Verify(x509.VerifyOptions{Roots: poolOf(roots...), Intermediates: poolOf(parent),
		CurrentTime: servicesNow, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

// A request with anything except a key is refused, and so is a weak key.
func TestHostileServiceRequests(t *testing.T) {
	s, _ := newServices(t)
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	hub, _ := url.Parse("fettle://acme/hub/hub1")
	ca, _ := asn1.Marshal(struct{ IsCA bool }{true})
	extension := func(id asn1.ObjectIdentifier, value []byte) *x509.CertificateRequest {
		return &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{{Id: id, Critical: true, Value: value}}}
	}
	for what, r := range map[string]struct {
		request *x509.CertificateRequest
		key     crypto.Signer
	}{
		"a URI":             {&x509.CertificateRequest{URIs: []*url.URL{hub}}, curveKey(t)},
		"a name":            {&x509.CertificateRequest{DNSNames: []string{"bank.example.org"}}, curveKey(t)},
		"an address":        {&x509.CertificateRequest{IPAddresses: []net.IP{net.ParseIP("192.0.2.1")}}, curveKey(t)},
		"mail":              {&x509.CertificateRequest{EmailAddresses: []string{"root@example.org"}}, curveKey(t)},
		"a subject":         {&x509.CertificateRequest{Subject: pkix.Name{CommonName: "bank.example.org"}}, curveKey(t)},
		"CA":                {extension(asn1.ObjectIdentifier{2, 5, 29, 19}, ca), curveKey(t)},
		"a huge extension":  {extension(asn1.ObjectIdentifier{2, 25, 1}, make([]byte, 1<<20)), curveKey(t)},
		"a small extension": {extension(asn1.ObjectIdentifier{2, 25, 1}, []byte{5, 0}), curveKey(t)},
		"RSA":               {&x509.CertificateRequest{}, weak},
		"P-224":             {&x509.CertificateRequest{}, p224},
		"ed25519":           {&x509.CertificateRequest{}, ed},
	} {
		der, err := x509.CreateCertificateRequest(rand.Reader, r.request, r.key)
		if err != nil {
			t.Fatal(what, err)
		}
		key, err := pki.ParseRequest(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
		if err == nil {
			_, err = s.Issue(key, []string{"web.example.org"}, servicesNow)
		}
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// Names have one form, and names of the hub are refused.
func TestServiceNames(t *testing.T) {
	s, _ := newServices(t)
	for name, good := range map[string]bool{
		"web3.example.org": true, "web3": true, "192.0.2.1": true, "2001:db8::1": true, "xn--bcher-kva.example": true,
		"": false, "*.example.org": false, "Web.example.org": false, "web.example.org.": false, "a..b": false, "a_b": false,
		"-a": false, "1.2.3": false, "1.2.3.4.5": false,
		"::ffff:192.0.2.1": false, "2001:DB8::1": false, "0.0.0.0": false, "fe80::1%eth0": false,
		"fettle://acme/hub/hub1": false, "a\x00b": false, "a b": false, "../x": false,
		strings.Repeat("a", 64): false, strings.Repeat("a.", 127) + "a": false,
		"hub.example.org": false, "a.hub.example.org": false, "192.0.2.7": false,
	} {
		_, err := s.Issue(curveKey(t).Public(), []string{name}, servicesNow)
		if (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, names := range [][]string{nil, {"b", "a"}, {"a", "a"}, strings.Split(strings.Repeat("a ", 17), " ")} {
		if _, err := s.Issue(curveKey(t).Public(), names, servicesNow); err == nil {
			t.Errorf("%q are taken", names)
		}
	}
}

// A certificate of a service begins a while before it is made, and never before the certificate of its issuer.
func TestServiceTimes(t *testing.T) {
	s, _ := newServices(t)
	parent, err := s.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]time.Time{-pki.Backdate / 2: parent.NotBefore, 0: parent.NotBefore,
		time.Hour: parent.NotBefore.Add(time.Hour)} {
		c, err := s.Issue(curveKey(t).Public(), []string{"web3.example.org"}, servicesNow.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		if !c.NotBefore.Equal(want) {
			t.Errorf("%s after the issuer: it begins at %s instead of %s", after, c.NotBefore, want)
		}
	}
	last, err := s.Issue(curveKey(t).Public(), []string{"web3.example.org"}, parent.NotAfter.Add(-time.Hour))
	if err != nil || !last.NotAfter.Equal(parent.NotAfter) {
		t.Errorf("near the end of the issuer: %v, %v", last, err)
	}
}
