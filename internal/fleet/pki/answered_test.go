package pki_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// TestRenewalWithKnownRevocations: a hub sends its revocations only to a target that does not have them.
func TestRenewalWithKnownRevocations(t *testing.T) {
	s := newSite(t, "acme")
	i, lost := s.enrolled(s.host(), "web1"), s.enrolled(s.host(), "web2")
	received := func(known string) int {
		body, err := json.Marshal(pki.Renewal{Format: "fettle.renewal/1", Known: known})
		if err != nil {
			t.Fatal(err)
		}
		q := httptest.NewRequest(http.MethodPost, "/v1/renew", strings.NewReader(string(body)))
		q.TLS = &tls.ConnectionState{PeerCertificates: i.Chain()}
		w := httptest.NewRecorder()
		s.registrar.ServeRenew(w, q)
		var a pki.Answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		return len(a.Revocations)
	}
	before := s.registrar.Revocations.Digest()
	if _, err := s.registrar.SetStanding(t.Context(), lost.ID, fleet.Revoked, "ada", ""); err != nil {
		t.Fatal(err)
	}
	for known, want := range map[string]int{"": 1, before: 1, s.registrar.Revocations.Digest(): 0} {
		if got := received(known); got != want {
			t.Errorf("a target that knows %q gets %d revocations", known, got)
		}
	}
}

// TestSignersOfHubs: a target takes only certificates of signers as signers.
func TestSignersOfHubs(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	services, _ := servicesOf(t, s.authority)
	text := pki.EncodeCertificates(services, leafOf(t, s.hub), issuerOf(t, s.hub).Certificate())
	if next, err := c.Directory.UpdateHubs(i, i.HubURLs, i.BusURLs, text); err != nil || next != i {
		t.Errorf("another certificate is taken for a signer: %v", err)
	}
	second := signerOf(t, newHub(t, s.authority, "hub2"))
	next, err := c.Directory.UpdateHubs(i, i.HubURLs, i.BusURLs, pki.EncodeCertificates(second))
	if err != nil || next == i || len(next.Keys(nil, start(), start().Add(-time.Hour))) != 2 {
		t.Errorf("the signer of another hub is not taken: %v", err)
	}
}

// TestUnreachableHub: the error names the hub and its problem, and not the path of the request.
func TestUnreachableHub(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route to host") }
	_, err := c.Enrol(t.Context(), "https://hub.example.org:7443", s.token(nil), "web1")
	if err == nil || !strings.HasSuffix(err.Error(), "cannot ask the hub at hub.example.org:7443: no route to host") {
		t.Errorf("%v", err)
	}
}

// TestTokenOfRightSize: a text with the size of a token, and other parts, is refused.
func TestTokenOfRightSize(t *testing.T) {
	text := someToken(t).Text()
	for _, wrong := range []string{strings.Repeat("x", len(text)), strings.Repeat("-", len(text)),
		strings.ReplaceAll(text, "-", "x"), text[:len(text)-1], text + "a"} {
		if _, err := pki.ParseToken(wrong); err == nil || strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := pki.ParseToken(" " + text + "\n"); err != nil {
		t.Errorf("with space around: %v", err)
	}
}
