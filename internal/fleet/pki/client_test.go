package pki_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// An invalid name of a target is refused before any hub is contacted.
func TestBadNameStaysOnTheHost(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	c.Dial = func(context.Context, string, string) (net.Conn, error) {
		t.Error("it connects to the hub")
		return nil, errors.New("no route to host")
	}
	for _, name := range []string{"", "a b", "a/b"} {
		if _, err := c.Enrol(t.Context(), s.url, s.token(nil), name); err == nil {
			t.Errorf("%q enrols", name)
		}
	}
}

// The key of an enrolment lasts as long as its token: the same token is sent with the same key.
// Another token, or a damaged file, needs a new key.
func TestKeyOfAnEnrolment(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	var last string
	hub := s.answering(403, func(e pki.Enrolment) any { last = e.Request; return map[string]string{"error": "no"} })
	key := func(token pki.Token) string {
		t.Helper()
		if _, err := c.Enrol(t.Context(), hub, token, "web1"); err == nil {
			t.Fatal("a refusal enrols the host")
		}
		public, err := pki.ParseRequest([]byte(last))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := pki.KeyDigest(public)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	a, b := s.token(nil), s.token(nil)
	first, again, other := key(a), key(a), key(b)
	if first != again || first == other {
		t.Errorf("one token has the keys %s and %s, another %s", first, again, other)
	}
	put(t, c.Directory.FS, c.Directory.Dir+"/identity.coming.json", []byte("{"))
	if key(b) == other {
		t.Error("the key comes from a damaged file")
	}
}

// A target tries its hubs in turn until one of them renews its certificate.
func TestRenewalAtTheSecondHub(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	signers := pki.EncodeCertificates(signerOf(t, s.hub))
	if _, err := c.Directory.UpdateHubs(i, []string{"https://127.0.0.1:1", "https://[::1]:1", s.url}, i.BusURLs, signers); err != nil {
		t.Fatal(err)
	}
	s.clock.forward(16 * time.Hour)
	next, err := c.Renew(t.Context(), nil)
	if err != nil || !next.Certificate().NotAfter.After(i.Certificate().NotAfter) {
		t.Errorf("%v", err)
	}
}

// Without any hub the renewal fails, and the error contains the next step. With hubs it contains
// each failure.
func TestRenewalWithoutAHub(t *testing.T) {
	s := newSite(t, "acme")
	s.registrar.HubURLs = nil
	c := s.host()
	i := s.enrolled(c, "web1")
	if _, err := c.Renew(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "fettle agent enrol --again") {
		t.Errorf("%v", err)
	}
	hubs := []string{"https://127.0.0.1:1", "https://127.0.0.1:2"}
	if _, err := c.Directory.UpdateHubs(i, hubs, i.BusURLs, pki.EncodeCertificates(signerOf(t, s.hub))); err != nil {
		t.Fatal(err)
	}
	_, err := c.Renew(t.Context(), nil)
	for _, hub := range hubs {
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(hub, "https://")) || strings.Contains(err.Error(), "names no hub") {
			t.Errorf("%v", err)
		}
	}
}

// A target sends revocations only to a hub with different ones, and stores each once.
func TestRevocationsAreSentOnlyIfTheyDiffer(t *testing.T) {
	s := newSite(t, "acme")
	told := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/enrol", s.registrar.ServeEnrol)
	mux.HandleFunc("POST /v1/renew", s.registrar.ServeRenew)
	mux.HandleFunc("POST /v1/facts", func(w http.ResponseWriter, q *http.Request) { told++; s.registrar.ServeRevocations(w, q) })
	s.url = serve(t, mux, trustOf(t, s.hub, s.registrar.Revocations).ServerTLS(s.hub.TLS, s.clock.now))
	s.registrar.HubURLs = []string{s.url}
	c := s.host()
	s.enrolled(c, "web1")
	lost := s.enrolled(s.host(), "web2")
	renew := func(want int, when string) {
		t.Helper()
		s.clock.forward(16 * time.Hour)
		_, err := c.Renew(t.Context(), nil)
		k, unread := c.Directory.LoadKnown()
		if err != nil || unread != nil || told != want || len(k.Revocations) != len(s.registrar.Revocations.All()) {
			t.Errorf("%s: told %d times, %d revocations: %v, %v", when, told, len(k.Revocations), err, unread)
		}
	}
	renew(0, "without revocations")
	if _, err := s.registrar.SetStanding(t.Context(), lost.ID, fleet.Revoked, "ada", ""); err != nil {
		t.Fatal(err)
	}
	renew(0, "with the revocation of the hub")
	renew(0, "again")
	*s.registrar.Revocations = pki.Revocations{}
	renew(1, "after the hub lost it")
}
