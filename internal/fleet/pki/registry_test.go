package pki_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// once fails the first operation of a kind, and calls then before it.
func once(op string, err error, then func()) func(op, key string) error {
	done := false
	return func(got, _ string) error {
		if got != op || done {
			return nil
		}
		done = true
		then()
		return err
	}
}

// TestSerialsOfATarget: the registry has the serial of each certificate that can be valid, and no others. The audit log
// names each certificate.
func TestSerialsOfATarget(t *testing.T) {
	s := newSite(t, "acme")
	var noted []string
	s.registrar.Audit = func(_ context.Context, n pki.AuditRecord) error { noted = append(noted, n.Text); return nil }
	c := s.host()
	i := s.enrolled(c, "web1")
	var serials []string
	for range 12 {
		serials = append(serials, pki.SerialOf(i.Certificate()))
		s.clock.forward(16 * time.Hour)
		var err error
		if i, err = c.Renew(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	serials = append(serials, pki.SerialOf(i.Certificate()))
	if got := s.target(i.ID).Serials; len(got) != 8 || strings.Join(got, " ") != strings.Join(serials[5:], " ") {
		t.Errorf("%q, and the certificates have %q", got, serials)
	}
	last := "certificate " + serials[12] + " for web1 until " + i.Certificate().NotAfter.UTC().Format(time.RFC3339)
	if len(noted) != 13 || noted[12] != last {
		t.Errorf("%q, want %q at last", noted, last)
	}
}

// TestTargetChangesDuringARenewal: a certificate is recorded also if an operator changes the target at the same time.
// A target that an operator revokes meanwhile gets none.
func TestTargetChangesDuringARenewal(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	s.targets.fail = once("update", fleet.ErrConflict, func() {})
	s.clock.forward(16 * time.Hour)
	next, err := c.Renew(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.target(i.ID).Serials; len(got) != 2 || got[1] != pki.SerialOf(next.Certificate()) {
		t.Errorf("%q", got)
	}
	revoked := s.target(i.ID)
	revoked.Standing = fleet.Revoked
	b, err := json.Marshal(revoked)
	if err != nil {
		t.Fatal(err)
	}
	s.targets.fail = once("update", fleet.ErrConflict, func() { s.targets.set(string(i.ID), b) })
	s.clock.forward(16 * time.Hour)
	if _, err := c.Renew(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "it has just been changed") {
		t.Errorf("%v", err)
	}
	s.targets.fail = nil
	if got := s.target(i.ID); len(got.Serials) != 2 || got.Standing != fleet.Revoked {
		t.Errorf("%+v", got)
	}
	if _, err := c.Renew(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "it is revoked") {
		t.Errorf("after the revocation: %v", err)
	}
}

// TestTokenOfTwoHosts: a host that uses a token at the same time as another host has the labels of the token.
func TestTokenOfTwoHosts(t *testing.T) {
	s := newSite(t, "acme")
	token := s.token(nil)
	s.tokens.fail = once("update", fleet.ErrConflict, func() {})
	i, err := s.host().Enrol(t.Context(), s.url, token, "web1")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.target(i.ID); got.Labels["role"] != "web" || got.Fleet != "prod" {
		t.Errorf("%+v", got)
	}
}

// TestDamagedRegistry: a hub that cannot read a target in its store changes nothing.
func TestDamagedRegistry(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	s.targets.set(string(i.ID), []byte("{"))
	_, err := s.registrar.Renew(t.Context(), &tls.ConnectionState{PeerCertificates: i.Chain()})
	var refused *pki.Refusal
	if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "it is damaged") {
		t.Errorf("%v", err)
	}
	if e, err := s.targets.Get(t.Context(), string(i.ID)); err != nil || string(e.Value) != "{" {
		t.Errorf("%s, %v", e.Value, err)
	}
}

// TestRenewalOfOtherKinds: only a target can renew its certificate here.
func TestRenewalOfOtherKinds(t *testing.T) {
	s := newSite(t, "acme")
	services, service := servicesOf(t, s.authority)
	for what, c := range map[string]*x509.Certificate{"a hub": leafOf(t, s.hub), "a signer": signerOf(t, s.hub),
		"an issuer": issuerOf(t, s.hub).Certificate(), "an issuer of services": services, "a service": service} {
		_, err := s.registrar.Renew(t.Context(), &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}})
		var refused *pki.Refusal
		if !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
			t.Errorf("%s: %v", what, err)
		}
	}
	if all, err := s.targets.All(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("%d targets are made, %v", len(all), err)
	}
}

// TestForeignCertificatesOfAHub: a hub installs only certificates that its own fleet CA has made for it.
func TestForeignCertificatesOfAHub(t *testing.T) {
	a, other := newAuthority(t, "acme"), newAuthority(t, "acme")
	h, err := pki.OpenHub(mem.NewFS(mem.Options{}), "/hub")
	if err != nil {
		t.Fatal(err)
	}
	request, err := h.Request()
	if err != nil {
		t.Fatal(err)
	}
	certs := func(a *pki.CA) []*x509.Certificate {
		text, err := a.Certify(request, "hub1", nil, start())
		if err != nil {
			t.Fatal(err)
		}
		list, err := pki.ParseCertificates(text)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	good, foreign := certs(a), certs(other)
	for i := range good {
		mixed := append([]*x509.Certificate{}, good...)
		mixed[i] = foreign[i]
		if err := h.Install(pki.EncodeCertificates(mixed...)); err == nil {
			t.Errorf("the certificate %d of another fleet CA is installed", i)
		}
	}
	swapped := []*x509.Certificate{good[0], good[2], good[1], good[3]}
	if err := h.Install(pki.EncodeCertificates(swapped...)); err == nil {
		t.Error("certificates in another order are installed")
	}
	if err := h.Install(pki.EncodeCertificates(good...)); err != nil {
		t.Error(err)
	}
}
