package pki_test

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// A fleet CA certifies a hub's three keys, in their order, under valid names.
func TestCertify(t *testing.T) {
	a := newAuthority(t, "acme")
	h, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.TLS(); !errors.Is(err, pki.ErrNoCertificates) {
		t.Errorf("a hub that nobody vouched for: %v", err)
	}
	request, err := h.Request()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "a b", "*.example.org", "-a", "a..b", "hub:7443", "https://hub"} {
		if _, err := a.Certify(request, "hub1", []string{bad}, start()); err == nil {
			t.Errorf("it vouches for a hub at %q", bad)
		}
	}
	for _, bad := range []string{"", "Hub", "a/b", "hub.1"} {
		if _, err := a.Certify(request, bad, nil, start()); err == nil {
			t.Errorf("it vouches for a hub called %q", bad)
		}
	}
	mark := []byte("-----BEGIN")
	one, rest := request[:bytes.Index(request[1:], mark)+1], request[bytes.Index(request[1:], mark)+1:]
	for what, bad := range map[string][]byte{"none": nil, "two": rest, "turned round": slices.Concat(rest, one),
		"the same key twice": slices.Concat(one, one, rest[bytes.LastIndex(rest, mark):])} {
		if _, err := a.Certify(bad, "hub1", nil, start()); err == nil {
			t.Errorf("it vouches for a request with %s", what)
		}
	}
	certs, err := a.Certify(request, "hub1", []string{"Hub.example.org", "192.0.2.1", "2001:db8::1", "192.0.2.1"}, start())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Install(certs); err != nil {
		t.Fatal(err)
	}
	if c := leafOf(t, h); len(c.DNSNames) != 1 || len(c.IPAddresses) != 2 {
		t.Errorf("it is for %v and %v", c.DNSNames, c.IPAddresses)
	}
}

// A hub installs only its own certificates, and always of the same fleet CA and name.
func TestInstall(t *testing.T) {
	a, other := newAuthority(t, "acme"), newAuthority(t, "acme")
	files := mem.NewFS(mem.Options{})
	h, err := pki.OpenHub(files, "/hub")
	if err != nil {
		t.Fatal(err)
	}
	request, err := h.Request()
	if err != nil {
		t.Fatal(err)
	}
	vouched := func(by *pki.CA, name string) []byte {
		certs, err := by.Certify(request, name, nil, start())
		if err != nil {
			t.Fatal(err)
		}
		return certs
	}
	stranger := newHub(t, a, "hub1")
	if err := stranger.Install(vouched(a, "hub1")); err == nil {
		t.Error("a hub takes certificates of another's keys")
	}
	if err := h.Install(vouched(a, "hub1")); err != nil {
		t.Fatal(err)
	}
	for what, certs := range map[string][]byte{"another authority": vouched(other, "hub1"),
		"another name": vouched(a, "hub2"), "nobody": nil} {
		if err := h.Install(certs); err == nil {
			t.Errorf("it takes certificates of %s", what)
		}
	}
	if err := h.Install(vouched(a, "hub1")); err != nil {
		t.Errorf("renewing: %v", err)
	}
	again, err := pki.OpenHub(files, "/hub")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := again.Name(); err != nil || n.String() != "fettle://acme/hub/hub1" ||
		!bytes.Equal(again.SigningKey(), h.SigningKey()) {
		t.Errorf("opened again it is %s, %v", n, err)
	}
	if _, err := pki.NewCA(files, "/authority", "acme", start()); err != nil {
		t.Fatal(err)
	}
	if _, err := pki.NewCA(files, "/authority", "acme", start()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second authority in the same directory: %v", err)
	}
	if again, err := pki.OpenCA(files, "/authority"); err != nil || again.Fleet() != "acme" {
		t.Errorf("%v", err)
	}
}
