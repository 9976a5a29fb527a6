package pki_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/pki"
)

// These certificates work with the bus: an enrolled target is connected under its own identity.
// After its revocation, its connection ends and it cannot reconnect.
func TestOnTheBus(t *testing.T) {
	s := newSite(t, "acme")
	i := s.enrolled(s.host(), "web1")
	trust := trustOf(t, s.hub, s.registrar.Revocations)
	srv, err := bus.Start(t.Context(), bus.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: trust.BusTLS(s.hub.TLS, s.clock.now),
		Identify: func(c *tls.ConnectionState) (fleet.TargetID, error) { return trust.TargetOf(c, s.clock.now()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	heard := make(chan fleet.TargetID, 10)
	if err := srv.Exchange().Serve("hello", func(_ context.Context, from fleet.TargetID, _ []byte) ([]byte, error) {
		heard <- from
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	conf := i.TLS(nil, s.clock.now, nil)
	l, err := bus.Dial(t.Context(), bus.LinkConfig{ID: i.ID, URLs: []string{"tls://" + srv.Address().String()},
		TLS: func() (*tls.Config, error) { return conf, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bustest.Await(t, "the target is connected", func() bool { return len(srv.Exchange().Connected()) == 1 })
	if _, err := l.Ask(t.Context(), "hello", nil); err != nil {
		t.Fatal(err)
	}
	if from := <-heard; from != i.ID {
		t.Errorf("%s was heard", from)
	}
	if _, err := s.registrar.SetStanding(t.Context(), i.ID, fleet.Revoked, "ada", "stolen"); err != nil {
		t.Fatal(err)
	}
	srv.Exchange().Kick(i.ID)
	bustest.Await(t, "the target is gone", func() bool { return len(srv.Exchange().Connected()) == 0 })
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), conf); err == nil {
		t.Error("a revoked target connects again")
	}
}

// Hubs accept each other in both directions, and accept no other certificates.
func TestBetweenHubs(t *testing.T) {
	a := newAuthority(t, "acme")
	one, other, foreign := newHub(t, a, "hub1"), newHub(t, a, "hub2"), newHub(t, newAuthority(t, "acme"), "hub2")
	s := newSite(t, "acme")
	target := s.enrolled(s.host(), "web1")
	now := func() time.Time { return start() }
	of := func(h *pki.Hub) *tls.Config { return trustOf(t, h, nil).HubTLS(h.TLS, now) }
	if err := handshake(t, of(one), of(other)); err != nil {
		t.Error(err)
	}
	for what, c := range map[string]*tls.Config{"another authority's": of(foreign),
		"a target": target.TLS(nil, now, nil)} {
		if err := handshake(t, of(one), c); err == nil {
			t.Errorf("%s is taken for a hub", what)
		}
	}
	if err := handshake(t, trustOf(t, foreign, nil).BusTLS(foreign.TLS, now), of(one)); err == nil {
		t.Error("a hub calls one of another authority")
	}
}
