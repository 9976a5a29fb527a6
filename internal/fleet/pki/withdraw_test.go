package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// beside is another hub of the fleet, with the same stores.
func (s *site) beside(id string) *site {
	o := *s
	o.hub = newHub(s.t, s.authority, id)
	r := &pki.Registrar{
		Hub: o.hub, Revocations: &pki.Revocations{}, Tokens: s.tokens, Targets: s.targets, RevocationStore: s.facts,
		Names: s.names,
		Now:   s.clock.now, HubURLs: s.registrar.HubURLs, BusURLs: s.registrar.BusURLs,
	}
	o.registrar = r
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/enrol", r.ServeEnrol)
	mux.HandleFunc("POST /v1/renew", r.ServeRenew)
	trust := trustOf(s.t, o.hub, r.Revocations)
	o.url = serve(s.t, mux, trust.ServerTLS(o.hub.TLS, s.clock.now))
	return &o
}

func signerOf(t *testing.T, h *pki.Hub) *x509.Certificate {
	t.Helper()
	c, err := h.Signer()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A withdrawn hub cannot connect. Certificates that it issued to targets are refused, except to get
// new ones. Its revocations stay valid, also for new agents.
func TestWithdrawHub(t *testing.T) {
	s := newSite(t, "acme")
	other := s.beside("hub2")
	host := s.host()
	theirs := other.enrolled(host, "web1")
	bad, worse := other.enrolled(s.host(), "web2"), other.enrolled(s.host(), "web3")
	for _, id := range []fleet.TargetID{bad.ID, worse.ID} {
		if _, err := other.registrar.SetStanding(t.Context(), id, fleet.Revoked, "ada", ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.registrar.AcceptRevocations(t.Context(),
		other.registrar.Revocations.Envelopes()); err == nil && len(s.registrar.Revocations.All()) != 0 {
		t.Error("a fact of a hub that is not known is believed")
	}
	for _, e := range other.registrar.Revocations.Envelopes() {
		if _, err := s.registrar.Revocations.Add(e, fleet.KeysOf(publicOf(other.hub.SigningKey()))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"db1", "db2", "db3", "db4"} { // the revocations of this hub stay as they are
		i := s.enrolled(s.host(), name)
		if _, err := s.registrar.SetStanding(t.Context(), i.ID, fleet.Revoked, "ada", ""); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.registrar.Withdraw(t.Context(), "hub2", signerOf(t, other.hub), "ada", "stolen"); err != nil {
			t.Fatal(err)
		}
	}
	trust := trustOf(t, s.hub, s.registrar.Revocations)
	if err := handshake(t, trust.HubTLS(s.hub.TLS, s.clock.now),
		trustOf(t, other.hub, nil).HubTLS(other.hub.TLS, s.clock.now)); !errors.Is(err, pki.ErrRevoked) {
		t.Errorf("another hub: %v", err)
	}
	if err := handshake(t, trustOf(t, other.hub, nil).ServerTLS(other.hub.TLS, s.clock.now),
		theirs.TLS(s.registrar.Revocations, s.clock.now, nil)); err == nil {
		t.Error("a target takes it for a hub")
	}
	// A new agent that trusts only this hub still receives all revocations.
	var fresh pki.Revocations
	for _, e := range s.registrar.Revocations.Envelopes() {
		if _, err := fresh.Add(e, fleet.KeysOf(publicOf(s.hub.SigningKey()))); err != nil {
			t.Errorf("a fact that only the other hub signed: %v", err)
		}
	}
	if !fresh.Revoked("", pki.Name{Fleet: "acme", Kind: pki.TargetKind, ID: string(bad.ID)}) ||
		!fresh.Revoked("", pki.Name{Fleet: "acme", Kind: pki.TargetKind, ID: string(worse.ID)}) ||
		!fresh.Revoked("", pki.Name{Fleet: "acme", Kind: pki.IssuerKind, ID: "hub2"}) {
		t.Errorf("a newcomer knows %v", fresh.All())
	}
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), theirs.TLS(nil, s.clock.now, nil)); !errors.Is(err,
		pki.ErrRevoked) {
		t.Errorf("the bus: %v", err)
	}
	// A hub that only trusts the certificate again needs the key, which stays.
	text, err := host.Directory.Load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Directory.UpdateHubs(text, []string{s.url}, []string{"tls://127.0.0.1:4222"},
		pki.EncodeCertificates(signerOf(t, s.hub))); err != nil {
		t.Fatal(err)
	}
	next, err := host.Renew(t.Context(), nil)
	if err != nil || next.ID != theirs.ID {
		t.Fatalf("it gets no other certificate: %v", err)
	}
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), next.TLS(nil, s.clock.now, nil)); err != nil {
		t.Errorf("with the other one: %v", err)
	}
}

// A thief of the keys of a withdrawn hub can make certificates, but cannot renew them: neither for
// an existing target, nor for a new one.
func TestThiefOfAHub(t *testing.T) {
	s := newSite(t, "acme")
	other := s.beside("hub2")
	i := other.enrolled(s.host(), "web1")
	if err := s.registrar.Withdraw(t.Context(), "hub2", signerOf(t, other.hub), "ada", "stolen"); err != nil {
		t.Fatal(err)
	}
	issuer, key := issuerOf(t, other.hub), newKey(t)
	own, err := pki.TargetIDOf(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for what, id := range map[string]fleet.TargetID{"as another": i.ID, "as nobody": own} {
		c, err := issuer.Target(key.Public(), id, pki.Claims{Name: "web1", Labels: map[string]string{"role": "db"}},
			s.clock.now())
		if err != nil {
			t.Fatal(err)
		}
		before, _ := s.targets.All(t.Context())
		_, err = s.registrar.Renew(t.Context(), &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c,
			issuer.Certificate()}})
		var refused *pki.Refusal
		if !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
			t.Errorf("%s: %v", what, err)
		}
		if after, _ := s.targets.All(t.Context()); len(after) != len(before) {
			t.Errorf("%s: a target is made", what)
		}
	}
}
