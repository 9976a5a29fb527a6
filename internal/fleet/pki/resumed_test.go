package pki_test

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// greeted connects a client, which receives some bytes, and returns true if it resumed an earlier
// session.
func greeted(t *testing.T, server, client *tls.Config) (resumed bool, err error) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client.ServerName = "hub" // under which it finds its session again
	theirs := make(chan error, 1)
	go func() {
		s, err := l.Accept()
		if err == nil {
			_, err = s.Write([]byte("x"))
			_ = s.Close()
		}
		theirs <- err
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err != nil {
		return false, errors.Join(err, <-theirs)
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return c.ConnectionState().DidResume, errors.Join(err, <-theirs)
}

// TestResumed: a target resumes a session, but not after a revocation at either end, or after its
// certificate has expired.
func TestResumed(t *testing.T) {
	s := newSite(t, "acme")
	i := s.enrolled(s.host(), "web1")
	trust := trustOf(t, s.hub, s.registrar.Revocations)
	trust.Paths = &pki.Paths{}
	server := trust.ServerTLS(s.hub.TLS, s.clock.now)
	known := &pki.Revocations{}
	connect := func() (bool, error) { return greeted(t, server, i.ResumingTLS(known, s.clock.now, nil)) }
	for n, want := range []bool{false, true, true} {
		if resumed, err := connect(); err != nil || resumed != want {
			t.Fatalf("connection %d: resumed %t, %v", n, resumed, err)
		}
	}
	other := s.enrolled(s.host(), "web2")
	if resumed, err := greeted(t, server, other.ResumingTLS(known, s.clock.now, nil)); err != nil || resumed {
		t.Errorf("another target: resumed %t, %v", resumed, err)
	}
	if _, err := s.registrar.SetStanding(t.Context(), i.ID, fleet.Revoked, "ada", "stolen"); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(); err == nil {
		t.Error("a revoked target goes on with its session")
	}
	if resumed, err := greeted(t, server, other.ResumingTLS(known, s.clock.now, nil)); err != nil || !resumed {
		t.Errorf("another target: resumed %t, %v", resumed, err)
	}
	name, err := s.hub.Name()
	if err != nil {
		t.Fatal(err)
	}
	fact, err := pki.Revocation{Name: name.String(), Fleet: "acme", At: s.clock.now().Unix(),
		By: "ada"}.Sign(s.hub.SigningKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := known.Add(fact, fleet.KeysOf(publicOf(s.hub.SigningKey()))); err != nil {
		t.Fatal(err)
	}
	if _, err := greeted(t, server, other.ResumingTLS(known, s.clock.now, nil)); err == nil {
		t.Error("a target goes on with the session of a hub that is revoked")
	}
}

// TestResumedAndRenewed: a renewed certificate is presented, instead of the certificate of the
// session.
func TestResumedAndRenewed(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i := s.enrolled(c, "web1")
	trust := trustOf(t, s.hub, s.registrar.Revocations)
	server := trust.ServerTLS(s.hub.TLS, s.clock.now)
	var shown string
	looked := server.VerifyConnection
	server.VerifyConnection = func(cs tls.ConnectionState) error {
		shown = pki.SerialOf(cs.PeerCertificates[0])
		return looked(cs)
	}
	for range 2 {
		if _, err := greeted(t, server, i.ResumingTLS(nil, s.clock.now, nil)); err != nil ||
			shown != pki.SerialOf(i.Certificate()) {
			t.Fatalf("%s, %v", shown, err)
		}
	}
	s.clock.forward(time.Hour)
	next, err := c.Renew(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resumed, err := greeted(t, server, next.ResumingTLS(nil, s.clock.now,
		nil)); err != nil || resumed || shown != pki.SerialOf(next.Certificate()) {
		t.Errorf("resumed %t with %s, %v", resumed, shown, err)
	}
}
