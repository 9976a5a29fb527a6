package pki

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// OwnCertificate returns the certificate of this end. It is called for each connection, so that a renewed
// certificate is used at once. It may be called from any goroutine.
type OwnCertificate func() (*tls.Certificate, error)

// ServerTLS returns the TLS configuration of a hub's HTTPS server: TLS 1.3, and a client
// certificate, if there is one, must be of a trusted target, user or hub. The expiry of the
// certificate and a revoked issuer are ignored, since a target in this state renews its certificate
// here. Handlers call PeerOf, which checks both.
func (t Trust) ServerTLS(own OwnCertificate, now func() time.Time) *tls.Config {
	c := t.serving(own, now)
	c.ClientAuth = tls.RequestClientCert
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return nil
		}
		_, err := t.verify(s.PeerCertificates, earlier(now(), s.PeerCertificates[0].NotAfter), ownStanding, TargetKind,
			UserKind, HubKind)
		return err
	}
	return c
}

// BusTLS returns the TLS configuration of a hub's bus: TLS 1.3, and a client certificate of a
// trusted target or hub that has not expired.
func (t Trust) BusTLS(own OwnCertificate, now func() time.Time) *tls.Config {
	c := t.serving(own, now)
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = func(s tls.ConnectionState) error {
		_, err := t.Verify(s.PeerCertificates, now(), TargetKind, HubKind)
		return err
	}
	return c
}

// HubTLS returns the TLS configuration between hubs, in both directions: TLS 1.3, and both ends
// present the certificate of a trusted hub that has not expired.
func (t Trust) HubTLS(own OwnCertificate, now func() time.Time) *tls.Config {
	c := t.serving(own, now)
	c.ClientAuth = tls.RequireAnyClientCert
	// As in ClientTLS, the host name is not verified.
	c.InsecureSkipVerify = true
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() }
	c.VerifyConnection = func(s tls.ConnectionState) error {
		_, err := t.PeerOf(&s, now(), HubKind)
		return err
	}
	return c
}

func (t Trust) serving(own OwnCertificate, now func() time.Time) *tls.Config {
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

// PeerOf returns the verified other end of a connection, which must be of one of the kinds; see
// Verify.
func (t Trust) PeerOf(s *tls.ConnectionState, now time.Time, kinds ...Kind) (Peer, error) {
	if s == nil {
		return t.Verify(nil, now, kinds...)
	}
	return t.Verify(s.PeerCertificates, now, kinds...)
}

// TargetOf is PeerOf for a bus, where targets are identified by their ID.
func (t Trust) TargetOf(s *tls.ConnectionState, now time.Time) (fleet.TargetID, error) {
	p, err := t.PeerOf(s, now, TargetKind)
	return fleet.TargetID(p.Name.ID), err
}

// ClientTLS returns the TLS configuration of agents, users and hubs as clients of a hub, for HTTPS
// and the bus: TLS 1.3, and the other end must be a hub that is trusted at VerificationTime. A hub is
// identified by its name in the fleet, not by its address. own is nil for a client without a
// certificate. floor returns the minimum time of an agent (see RaiseMinimumTime); nil means none.
func (t Trust) ClientTLS(own OwnCertificate, now, floor func() time.Time) *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS13,
		// The host name is not verified; VerifyConnection does the whole verification.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				_, err := t.Verify(nil, now(), HubKind)
				return err
			}
			at, err := VerificationTime(now(), minimumTimeOf(floor), s.PeerCertificates[0])
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
