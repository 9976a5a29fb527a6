package pki_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

const year = 365 * 24 * time.Hour

func (s *site) enrolled(c pki.Client, name string) *pki.Identity {
	s.t.Helper()
	i, err := c.Enrol(s.t.Context(), s.url, s.token(nil), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return i
}

// A renewal keeps the key and the identity, and takes labels from the registry.
func TestRenewal(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	old := s.enrolled(c, "web1")
	if at := old.RenewAt(); at.Before(start().Add(15*time.Hour)) || at.After(start().Add(17*time.Hour)) {
		t.Errorf("a certificate of a day is to be renewed at %s", at)
	}
	target := s.target(old.ID)
	target.Labels = map[string]string{"role": "db"}
	b, _ := json.Marshal(target)
	if _, err := s.targets.Put(t.Context(), string(old.ID), b); err != nil {
		t.Fatal(err)
	}
	s.clock.forward(16 * time.Hour)
	next, err := c.Renew(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := pki.ClaimsOf(next.Certificate())
	if err != nil || claims.Labels["role"] != "db" || next.ID != old.ID ||
		!next.Certificate().NotAfter.After(old.Certificate().NotAfter) {
		t.Errorf("%+v, %v", claims, err)
	}
	if got := s.target(old.ID); len(got.Serials) != 2 || got.Serials[1] != pki.SerialOf(next.Certificate()) {
		t.Errorf("serials: %v", got.Serials)
	}
}

// A renewal does not overwrite Known that another goroutine changes at the same time.
func TestRenewalKeepsWhatIsKnown(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	s.enrolled(c, "web1")
	before, err := c.Directory.LoadKnown()
	if err != nil {
		t.Fatal(err)
	}
	s.clock.forward(16 * time.Hour)
	later := s.clock.now().Add(100 * year).UnixNano()
	known := pki.Known{MinimumTime: later, Revocations: [][]byte{[]byte("learned meanwhile")}}
	c.UpdateKnown = func(change func(pki.Known) pki.Known) error {
		known = change(known)
		return nil
	}
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if known.MinimumTime != later || len(known.Revocations) == 0 || string(known.Revocations[0]) != "learned meanwhile" {
		t.Errorf("%+v", known)
	}
	if k, err := c.Directory.LoadKnown(); err != nil || k.MinimumTime != before.MinimumTime {
		t.Errorf("the file was written beside whoever keeps it: %+v, %v", k, err)
	}
}

// With a clock that is a year off in either direction, a host can enrol and renew.
func TestClocksAYearOff(t *testing.T) {
	for what, off := range map[string]time.Duration{"behind": -year, "ahead": year} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t, "acme")
			c := s.host()
			c.Now = func() time.Time { return s.clock.now().Add(off) }
			i := s.enrolled(c, "web1")
			if len(i.Keys(nil, c.Now(), start())) != 1 {
				t.Error("no key of a hub is believed")
			}
			s.clock.forward(16 * time.Hour)
			if _, err := c.Renew(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			k, err := c.Directory.LoadKnown()
			if err != nil || time.Unix(0, k.MinimumTime).Sub(start().Add(16*time.Hour)).Abs() > time.Second {
				t.Errorf("the floor is %s, %v", time.Unix(0, k.MinimumTime).UTC(), err)
			}
		})
	}
}

// A target that renews while the clock of its hub is ahead can still connect when the clock is right
// again. Its certificate can be revoked.
func TestCertificateOfAHubWithAFastClock(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	s.enrolled(c, "web1")
	s.clock.forward(24 * time.Hour)
	i, err := c.Renew(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.forward(-24 * time.Hour)
	trust := trustOf(t, s.hub, s.registrar.Revocations)
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), i.TLS(nil, s.clock.now, nil)); err != nil {
		t.Errorf("on the bus: %v", err)
	}
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Errorf("the next renewal: %v", err)
	}
	if _, err := s.registrar.SetStanding(t.Context(), i.ID, fleet.Revoked, "ada", "the laptop is gone"); err != nil {
		t.Fatal(err)
	}
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), i.TLS(nil, s.clock.now, nil)); !errors.Is(err,
		pki.ErrRevoked) {
		t.Errorf("after it was revoked: %v", err)
	}
}

// A stolen certificate that is revoked cannot connect and cannot be renewed. Agents that know the
// revocation send it to other hubs.
func TestStolenCertificate(t *testing.T) {
	s := newSite(t, "acme")
	owner, other := s.host(), s.host()
	stolen := s.enrolled(owner, "web1")
	s.enrolled(other, "web2")
	trust := trustOf(t, s.hub, s.registrar.Revocations)
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), stolen.TLS(nil, s.clock.now, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.registrar.SetStanding(t.Context(), stolen.ID, fleet.Revoked, "ada", "the laptop is gone"); err != nil {
		t.Fatal(err)
	}
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), stolen.TLS(nil, s.clock.now, nil)); !errors.Is(err,
		pki.ErrRevoked) {
		t.Errorf("on the bus: %v", err)
	}
	if _, err := owner.Renew(t.Context(), nil); err == nil {
		t.Error("it is renewed")
	}
	if _, err := other.Renew(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	known, err := other.Directory.LoadKnown()
	if err != nil || len(known.Revocations) != 1 {
		t.Fatalf("%v, %v", known, err)
	}
	second := &pki.Revocations{}
	keys, err := s.hub.Keys(nil, nil, s.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	if news, err := second.Add(known.Revocations[0], keys); err != nil || !news {
		t.Fatal(news, err)
	}
	if _, err := trustOf(t, s.hub, second).Verify([]*x509.Certificate{stolen.Certificate(),
		issuerOf(t, s.hub).Certificate()}, s.clock.now(), pki.TargetKind); !errors.Is(err, pki.ErrRevoked) {
		t.Errorf("a hub that an agent told: %v", err)
	}
}

// handshake returns the server's result for a client, over a pipe.
func handshake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	theirs := make(chan error, 1)
	go func() {
		c := tls.Client(b, client)
		err := c.Handshake()
		if err == nil {
			_, err = c.Read(make([]byte, 1)) // the server's refusal follows the handshake
		}
		theirs <- err
	}()
	err := tls.Server(a, server).Handshake()
	a.Close()
	if told := <-theirs; err == nil && told == nil {
		t.Error("the client read something from a server that says nothing")
	}
	return err
}

// The bus refuses clients without a certificate or with an expired one. HTTPS accepts an expired
// one, for its renewal.
func TestExpiredCertificates(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	trust := trustOf(t, s.hub, s.registrar.Revocations)
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), trust.ClientTLS(nil, s.clock.now, nil)); err == nil {
		t.Error("the bus takes somebody without a certificate")
	}
	s.clock.forward(48 * time.Hour)
	if err := handshake(t, trust.BusTLS(s.hub.TLS, s.clock.now), i.TLS(nil, s.clock.now, nil)); !errors.Is(err,
		pki.ErrExpired) {
		t.Errorf("the bus: %v", err)
	}
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Errorf("a host that was away for two days: %v", err)
	}
	s.clock.forward(60 * 24 * time.Hour)
	if _, err := c.Renew(t.Context(), nil); !errors.Is(err, pki.ErrPending) {
		t.Errorf("a host that was away for two months: %v", err)
	}
	if got := s.target(i.ID); got.Standing != fleet.Pending {
		t.Errorf("it is %s", got.Standing)
	}
	if _, err := s.registrar.SetStanding(t.Context(), i.ID, fleet.Active, "ada", "it was in the cellar"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Errorf("a host that was approved: %v", err)
	}
}

// A lost registry is rebuilt from the certificates that are renewed.
func TestLostRegistry(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	was := s.target(i.ID)
	s.targets.all, s.names.all, s.tokens.all = nil, nil, nil
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	is := s.target(i.ID)
	if is.Name != was.Name || is.Labels["role"] != "web" || is.Fleet != was.Fleet || is.Key != was.Key ||
		is.Standing != fleet.Active {
		t.Errorf("it was %+v and is %+v", was, is)
	}
	if _, err := s.host().Enrol(t.Context(), s.url, s.token(nil), "web1"); err == nil {
		t.Error("its name is free")
	}
}

// An operation that cannot be recorded in the audit log is not executed.
func TestNoNoteNoDeed(t *testing.T) {
	s := newSite(t, "acme")
	i := s.enrolled(s.host(), "web1")
	s.registrar.Audit = func(_ context.Context, n pki.AuditRecord) error { return errors.New("the disk is full") }
	if _, err := s.registrar.SetStanding(t.Context(), i.ID, fleet.Retired, "ada", ""); err == nil {
		t.Error("a target is retired, and nobody noted it")
	}
	if got := s.target(i.ID); got.Standing != fleet.Active || len(s.registrar.Revocations.All()) != 0 {
		t.Errorf("it is %s", got.Standing)
	}
	if _, err := s.host().Enrol(t.Context(), s.url, s.token(nil), "web2"); err == nil ||
		!strings.Contains(err.Error(), "Retry later") {
		t.Errorf("a certificate is made, and nobody noted it: %v", err)
	}
}

// The number of renewals of a target is limited.
func TestRenewalFlood(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	s.enrolled(c, "web1")
	var err error
	for range 30 {
		if _, err = c.Renew(t.Context(), nil); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "so often") {
		t.Errorf("after thirty renewals: %v", err)
	}
	s.clock.forward(time.Hour)
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A withdrawn token is refused, and targets that enrolled with it stay.
func TestWithdrawnToken(t *testing.T) {
	s := newSite(t, "acme")
	token, err := s.registrar.CreateToken(t.Context(), pki.Terms{Uses: 5, Expires: s.clock.now().Add(time.Hour).Unix()},
		"ada")
	if err != nil {
		t.Fatal(err)
	}
	c := s.host()
	if _, err := c.Enrol(t.Context(), s.url, token, "web1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.registrar.WithdrawToken(t.Context(), token.ID, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.host().Enrol(t.Context(), s.url, token, "web2"); err == nil ||
		!strings.Contains(err.Error(), "does not know it") {
		t.Error(err)
	}
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := s.registrar.WithdrawToken(t.Context(), "aaaaaaaa", "ada"); !errors.Is(err, fleet.ErrNotFound) {
		t.Error(err)
	}
	for _, bad := range []pki.Terms{{Expires: 1}, {Uses: 1}, {Uses: 2000, Expires: 1 << 40},
		{Uses: 1, Expires: 1 << 40, Names: "["}, {Uses: 1, Expires: 1 << 40, Networks: []string{"10.0.0.1"}},
		{Uses: 1, Expires: 1 << 40, Fleet: "A"}} {
		if _, err := s.registrar.CreateToken(t.Context(), bad, "ada"); err == nil {
			t.Errorf("a token of %+v is made", bad)
		}
	}
}

// An older version of fettle can read the identity that a newer version wrote.
func TestIdentityOfANewerProgram(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	for _, name := range []string{"/identity.json", "/known.json"} {
		file, err := c.Directory.FS.OpenWrite(c.Directory.Dir + name)
		if err != nil {
			t.Fatal(err)
		}
		old := make([]byte, 1<<16)
		n, _ := file.ReadAt(old, 0)
		if _, err := file.Write(append([]byte(`{"newer":true,`), old[1:n]...)); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	if got, err := c.Directory.Load(); err != nil || got.ID != i.ID {
		t.Error(err)
	}
	if k, err := c.Directory.LoadKnown(); err != nil || k.MinimumTime == 0 {
		t.Error(err)
	}
}

// A host that enrols again in another fleet forgets the old fleet.
func TestEnrolAgainElsewhere(t *testing.T) {
	s, other := newSite(t, "acme"), newSite(t, "zeta")
	c := s.host()
	was := s.enrolled(c, "web1")
	if err := c.Directory.SaveKnown(pki.Known{MinimumTime: start().Add(5 * year).UnixNano(),
		Revocations: [][]byte{[]byte("x")}}); err != nil {
		t.Fatal(err)
	}
	c.Reenrol = true
	is, err := c.Enrol(t.Context(), other.url, other.token(nil), "web1")
	if err != nil || is.ID == was.ID || is.Fleet != "zeta" {
		t.Fatalf("%+v, %v", is, err)
	}
	if _, err := c.Renew(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if k, err := c.Directory.LoadKnown(); err != nil || len(k.Revocations) != 0 {
		t.Errorf("%+v, %v", k, err)
	}
}

// A registry that cannot be read is not treated as lost.
func TestStoreFails(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	s.enrolled(c, "web1")
	s.targets.fail = func(op, _ string) error {
		if op == "get" {
			return errors.New("no quorum")
		}
		return nil
	}
	if _, err := c.Renew(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "Retry later") {
		t.Error(err)
	}
}
