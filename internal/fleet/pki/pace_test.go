package pki_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
)

// tells sends a hub a list of revocations, and returns the HTTP status.
func (s *site) tells(chain []*x509.Certificate, revocations ...[]byte) int {
	s.t.Helper()
	body, err := json.Marshal(pki.Renewal{Format: "fettle.renewal/1", Revocations: revocations})
	if err != nil {
		s.t.Fatal(err)
	}
	q := httptest.NewRequest(http.MethodPost, "/v1/facts", strings.NewReader(string(body)))
	q.TLS = &tls.ConnectionState{PeerCertificates: chain}
	w := httptest.NewRecorder()
	s.registrar.ServeRevocations(w, q)
	return w.Code
}

// TestRevocationsFlood: each target and hub may send revocations at a limited rate. Other certificates may not.
func TestRevocationsFlood(t *testing.T) {
	s := newSite(t, "acme")
	i, other := s.enrolled(s.host(), "web1"), s.enrolled(s.host(), "web2")
	for n := range 20 {
		if got := s.tells(i.Chain()); got != http.StatusNoContent {
			t.Fatalf("request %d: %d", n, got)
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 429}, {10*time.Minute - time.Second, 429}, {2 * time.Second, 204}, {0, 429}, {20 * time.Minute, 204}, {0, 204},
		{0, 429}} {
		if s.clock.forward(c.after); s.tells(i.Chain()) != c.want {
			t.Errorf("%s later, the status is not %d", c.after, c.want)
		}
	}
	for what, c := range map[string]struct {
		chain []*x509.Certificate
		want  int
	}{"another target": {other.Chain(), 204}, "a hub": {[]*x509.Certificate{leafOf(t, s.hub)}, 204},
		"a signer": {[]*x509.Certificate{signerOf(t, s.hub)}, 403}, "no certificate": {nil, 403},
		"an issuer": {[]*x509.Certificate{issuerOf(t, s.hub).Certificate()}, 403}} {
		if got := s.tells(c.chain); got != c.want {
			t.Errorf("%s: %d", what, got)
		}
	}
	trust := trustOf(t, s.hub, nil)
	services, _ := servicesOf(t, s.authority)
	for what, c := range map[string]*x509.Certificate{"an issuer of services": services,
		"an issuer": issuerOf(t, s.hub).Certificate(),
		"a signer":  signerOf(t, s.hub), "a hub": leafOf(t, s.hub)} {
		if _, err := trust.TargetOf(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}, start()); err == nil {
			t.Errorf("%s is a target on the bus", what)
		}
	}
}

// TestMixedRevocations: the revocations after an invalid or a known one are accepted.
func TestMixedRevocations(t *testing.T) {
	s := newSite(t, "acme")
	i := s.enrolled(s.host(), "web1")
	signed := func(serial string) []byte {
		e, err := pki.Revocation{Serial: serial, Fleet: "acme", At: 1, By: "ada"}.Sign(s.hub.SigningKey())
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	one, two := signed("1f"), signed("2f")
	for n, all := range [][][]byte{{one}, {[]byte("{}"), one, two}} {
		if got := s.tells(i.Chain(), all...); got != http.StatusNoContent {
			t.Errorf("request %d: %d", n, got)
		}
	}
	got := s.registrar.Revocations
	if !got.Revoked("1f", pki.Name{}) || !got.Revoked("2f", pki.Name{}) || len(got.All()) != 2 {
		t.Errorf("%v", got.All())
	}
	s.facts.fail = func(string, string) error { return errFault }
	if got := s.tells(i.Chain(), signed("3f")); got != http.StatusServiceUnavailable {
		t.Errorf("without a store: %d", got)
	}
	s.registrar.Signers = func(context.Context) ([]*x509.Certificate, error) { return nil, errFault }
	if got := s.tells(i.Chain(), one); got != http.StatusServiceUnavailable {
		t.Errorf("without signers: %d", got)
	}
}

// TestAddressesOfHubs: targets get the addresses that the fleet has now.
func TestAddressesOfHubs(t *testing.T) {
	s := newSite(t, "acme")
	i := s.enrolled(s.host(), "web1")
	if len(i.HubURLs) != 1 || i.HubURLs[0] != s.url {
		t.Errorf("%q", i.HubURLs)
	}
	s.registrar.Addresses = func() (hubs, buses []string) {
		return []string{s.url, "https://hub2"}, []string{"tls://hub2:1"}
	}
	i = s.enrolled(s.host(), "web2")
	if len(i.HubURLs) != 2 || i.HubURLs[1] != "https://hub2" || len(i.BusURLs) != 1 || i.BusURLs[0] != "tls://hub2:1" {
		t.Errorf("%q, %q", i.HubURLs, i.BusURLs)
	}
}
