package pki

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// TestRefusedAuthorityLeavesNothing: a refused fleet CA leaves no key, even if the key of the
// existing fleet CA is off-line.
func TestRefusedAuthorityLeavesNothing(t *testing.T) {
	for what, c := range map[string]struct {
		fleet   string
		present bool
		exists  bool
	}{
		"a bad name":  {"Acme", false, false},
		"no name":     {"", false, false},
		"a second CA": {"acme", true, true},
	} {
		files := mem.NewFS(mem.Options{})
		if c.present {
			if _, err := NewCA(files, "/a", "acme", rulesNow); err != nil {
				t.Fatal(err)
			}
			if err := files.Remove("/a/" + authorityKeyFile); err != nil {
				t.Fatal(err)
			}
		}
		if a, err := NewCA(files, "/a", c.fleet, rulesNow); err == nil || a != nil ||
			errors.Is(err, fs.ErrExist) != c.exists {
			t.Errorf("%s: %v", what, err)
		}
		if found, err := host.Exists(files, "/a/"+authorityKeyFile); err != nil || found {
			t.Errorf("%s: a key is left: %t, %v", what, found, err)
		}
	}
}

// TestNamesOfHubsAreChecked: a fleet CA signs no certificate for a hub with an invalid name.
func TestNamesOfHubsAreChecked(t *testing.T) {
	r, a := newRegistrar(t)
	request, err := r.Hub.Request()
	if err != nil {
		t.Fatal(err)
	}
	services, err := OpenServices(mem.NewFS(mem.Options{}), "/s")
	if err != nil {
		t.Fatal(err)
	}
	own, err := services.Request()
	if err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{"hub1": true, "": false, "Hub": false, "a/b": false, "hub.1": false} {
		_, err1 := a.Certify(request, name, nil, rulesNow)
		_, err2 := a.CertifyServices(own, name, nil, rulesNow)
		if (err1 == nil) != good || (err2 == nil) != good {
			t.Errorf("%q: %v, %v", name, err1, err2)
		}
	}
}

// TestFleetOfAnAuthority: the certificate of a fleet CA is a CA's, for exactly one fleet.
func TestFleetOfAnAuthority(t *testing.T) {
	for what, c := range map[string]struct {
		cert  x509.Certificate
		fleet string
	}{
		"one fleet":   {x509.Certificate{IsCA: true, PermittedURIDomains: []string{"acme"}}, "acme"},
		"no fleet":    {x509.Certificate{IsCA: true}, ""},
		"two fleets":  {x509.Certificate{IsCA: true, PermittedURIDomains: []string{"acme", "other"}}, ""},
		"no fleet CA": {x509.Certificate{PermittedURIDomains: []string{"acme"}}, ""},
		"a bad name":  {x509.Certificate{IsCA: true, PermittedURIDomains: []string{"Acme"}}, ""},
	} {
		if got, err := fleetOf(&c.cert); (err == nil) != (c.fleet != "") || err == nil && got != c.fleet {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// TestAuthorityForNoFleet: a CA of another program is not opened as a fleet CA.
func TestAuthorityForNoFleet(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	a, err := NewCA(files, "/a", "acme", rulesNow)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, SerialNumber: a.cert.SerialNumber,
		NotAfter: a.cert.NotAfter}
	any, err := create(template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Directory{FS: files, Dir: "/a"}).write(authorityFile, EncodeCertificates(any), false); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCA(files, "/a"); err == nil {
		t.Error("it is opened")
	}
}

// TestClaimsHaveTheirNumber: certificates of all versions have name and labels under the same object identifier.
func TestClaimsHaveTheirNumber(t *testing.T) {
	e, err := Claims{Name: "web1"}.extension()
	if err != nil || e.Id.String() != "2.25.1718906725" || e.Critical {
		t.Errorf("%s, critical %t, %v", e.Id, e.Critical, err)
	}
}
