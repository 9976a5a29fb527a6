package pki

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Own gives the certificate that somebody shows, anew for each connection, so that one
// that was renewed counts at once. It may be called from any goroutine.
type Own func() (*tls.Certificate, error)

// ServerTLS is for HTTPS of a hub: TLS 1.3, and whoever shows a certificate must be a
// target, a person or a hub that is believed. Its end is not looked at, nor who issued it,
// since a target that was away for long, or whose hub is revoked, renews here: handlers ask
// PeerOf, which does.
func (t Trust) ServerTLS(own Own, now func() time.Time) *tls.Config {
	c := t.serving(own, now)
	c.ClientAuth = tls.RequestClientCert
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return nil
		}
		_, err := t.verify(s.PeerCertificates, earlier(now(), s.PeerCertificates[0].NotAfter), ownStanding, TargetKind, UserKind, HubKind)
		return err
	}
	return c
}

// BusTLS is for the bus of a hub: TLS 1.3, and everybody shows the certificate of a
// target or a hub that is believed and has not ended.
func (t Trust) BusTLS(own Own, now func() time.Time) *tls.Config {
	c := t.serving(own, now)
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = func(s tls.ConnectionState) error {
		_, err := t.Verify(s.PeerCertificates, now(), TargetKind, HubKind)
		return err
	}
	return c
}

// HubTLS is for what hubs say to each other, in both directions: TLS 1.3, and both ends
// show the certificate of a hub that is believed and has not ended.
func (t Trust) HubTLS(own Own, now func() time.Time) *tls.Config {
	c := t.serving(own, now)
	c.ClientAuth = tls.RequireAnyClientCert
	// As in ClientTLS: the name of the machine is not what is checked.
	c.InsecureSkipVerify = true
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() }
	c.VerifyConnection = func(s tls.ConnectionState) error {
		_, err := t.PeerOf(&s, now(), HubKind)
		return err
	}
	return c
}

func (t Trust) serving(own Own, now func() time.Time) *tls.Config {
	pool := x509.NewCertPool()
	for _, c := range t.Authorities {
		pool.AddCert(c)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		ClientCAs:      pool,
		Time:           now,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own() },
	}
}

// PeerOf is who is at the other end of a connection, if they are of one of the kinds and
// believed now; see Verify.
func (t Trust) PeerOf(s *tls.ConnectionState, now time.Time, kinds ...Kind) (Peer, error) {
	if s == nil {
		return t.Verify(nil, now, kinds...)
	}
	return t.Verify(s.PeerCertificates, now, kinds...)
}

// TargetOf is PeerOf for a bus, on which targets are known by their identity.
func (t Trust) TargetOf(s *tls.ConnectionState, now time.Time) (fleet.TargetID, error) {
	p, err := t.PeerOf(s, now, TargetKind)
	return fleet.TargetID(p.Name.ID), err
}

// ClientTLS is for agents, people and hubs who call a hub, by HTTPS or on the bus: TLS
// 1.3, and the other end must be a hub that is believed at Moment. It is known by its
// name in this fleet: by which address it was reached does not matter. own is nil for who
// has no certificate. floor is that of an agent (see Raise); nil has none.
func (t Trust) ClientTLS(own Own, now, floor func() time.Time) *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS13,
		// The name of the machine is not what is checked; VerifyConnection does all that is.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				_, err := t.Verify(nil, now(), HubKind)
				return err
			}
			at, err := Moment(now(), minimumTimeOf(floor), s.PeerCertificates[0])
			if err == nil {
				_, err = t.Verify(s.PeerCertificates, at, HubKind)
			}
			return err
		},
	}
	if own != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() }
	}
	return c
}

func minimumTimeOf(floor func() time.Time) time.Time {
	if floor == nil {
		return time.Time{}
	}
	return floor()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
