package pki

import (
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Errors about certificates.
var (
	ErrExpired = errors.New("the certificate has expired")
	ErrRevoked = errors.New("the certificate is revoked")
)

// Trust is whom somebody believes. It is immutable while it is used.
type Trust struct {
	Fleet       string // all names are of it
	Authorities []*x509.Certificate
	// Revoked tells whether a certificate is not believed any more, by its serial and its
	// name. It may be called from any goroutine; nil revokes nothing.
	Revoked func(serial string, n Name) bool
	// Paths remembers which certificates have a way to an authority; nil remembers none.
	// Whether one of them is revoked is asked each time all the same.
	Paths *Paths
}

// Peer is somebody whose certificate is believed.
type Peer struct {
	Name        Name
	Serial      string
	Certificate *x509.Certificate
}

// Verify believes a certificate, which is the first of the chain, if it is of one of the
// kinds and of the fleet, comes from an authority the way that its kind must, holds at
// the moment, and neither it nor its issuer is revoked. ErrExpired and ErrRevoked are in
// the chain of the error.
func (t Trust) Verify(chain []*x509.Certificate, at time.Time, kinds ...Kind) (Peer, error) {
	return t.verify(chain, at, wholeStanding, kinds...)
}

// standing is of what on the way it matters that it is revoked.
type standing bool

const (
	wholeStanding standing = true
	// ownStanding does not look at the issuer: for who is to get another certificate.
	ownStanding standing = false
)

func (t Trust) verify(chain []*x509.Certificate, at time.Time, whole standing, kinds ...Kind) (Peer, error) {
	if len(chain) == 0 {
		return Peer{}, errors.New("cannot believe somebody without a certificate")
	}
	leaf := chain[0]
	n, err := NameOf(leaf)
	if err != nil {
		return Peer{}, err
	}
	if n.Fleet != t.Fleet {
		return Peer{}, fmt.Errorf("cannot believe a certificate of the fleet %q: this is %q", n.Fleet, t.Fleet)
	}
	if !slices.Contains(kinds, n.Kind) {
		return Peer{}, fmt.Errorf("cannot believe the certificate of a %s here", n.Kind)
	}
	p := Peer{Name: n, Serial: SerialOf(leaf), Certificate: leaf}
	if at.Before(leaf.NotBefore) {
		return Peer{}, fmt.Errorf("cannot believe the certificate of %s before %s: see whether the clocks are right", n, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	way, err := t.Paths.find(chain, n.Kind, at, t.way)
	if err == nil {
		err = t.standing(way, whole)
	}
	if err != nil {
		return Peer{}, err
	}
	return p, nil
}

// way is the path from a certificate to an authority, as it is remembered.
func (t Trust) way(chain []*x509.Certificate, kind Kind, at time.Time) (way, error) {
	path, err := t.path(chain, kind, at)
	if err != nil {
		return way{}, err
	}
	w := way{from: path[0].NotBefore, until: path[0].NotAfter, steps: make([]waypoint, 0, len(path)-1)}
	for i, c := range path {
		if c.NotBefore.After(w.from) {
			w.from = c.NotBefore
		}
		w.until = earlier(w.until, c.NotAfter)
		if i == len(path)-1 {
			break // the authority itself is what is believed
		}
		n, err := NameOf(c)
		if err != nil {
			return way{}, err
		}
		w.steps = append(w.steps, newWaypoint(n, SerialOf(c), i == 0))
	}
	return w, nil
}

// path is the way from a certificate to an authority, which has the length that the kind
// asks for.
func (t Trust) path(chain []*x509.Certificate, kind Kind, at time.Time) ([]*x509.Certificate, error) {
	if p := t.known(chain, kind, at); p != nil {
		return p, nil
	}
	opts := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at, KeyUsages: usages(kind)}
	for _, c := range t.Authorities {
		opts.Roots.AddCert(c)
	}
	for _, c := range chain[1:min(len(chain), 8)] {
		opts.Intermediates.AddCert(c)
	}
	paths, err := chain[0].Verify(opts)
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return nil, fmt.Errorf("cannot believe a certificate that ended at %s: %w", chain[0].NotAfter.UTC().Format(time.RFC3339), ErrExpired)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot believe a certificate that no authority of this fleet vouches for: %w", err)
	}
	for _, p := range paths {
		if rightPath(p, kind) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("cannot believe the certificate of a %s: it does not come from where such come from", kind)
}

// known is the path of a certificate by an issuer whose own path is known, nil for none: half as
// much is computed for it. What an authority permits its issuers permit as well, or it is not
// asked for here.
func (t Trust) known(chain []*x509.Certificate, kind Kind, at time.Time) []*x509.Certificate {
	if t.Paths == nil || kind != TargetKind && kind != UserKind {
		return nil
	}
	for _, c := range chain[1:min(len(chain), 8)] {
		if !c.IsCA || !c.PermittedDNSDomainsCritical || !slices.Equal(c.PermittedURIDomains, []string{t.Fleet}) {
			continue
		}
		above, err := t.Paths.issuer(c, at, func() ([]*x509.Certificate, error) { return t.path([]*x509.Certificate{c}, IssuerKind, at) })
		if err != nil {
			continue
		}
		opts := x509.VerifyOptions{Roots: x509.NewCertPool(), CurrentTime: at, KeyUsages: usages(kind)}
		opts.Roots.AddCert(c)
		if short, err := chain[0].Verify(opts); err == nil && len(short) == 1 && len(short[0]) == 2 {
			if p := append([]*x509.Certificate{chain[0]}, above...); rightPath(p, kind) {
				return p
			}
		}
	}
	return nil
}

func usages(kind Kind) []x509.ExtKeyUsage {
	switch kind {
	case HubKind, ServicesKind:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	case TargetKind, UserKind, IssuerKind:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
}

// rightPath: hubs, signers, and what makes certificates come straight from an authority; all others from
// an issuer, so that a stolen issuing key makes no hub.
func rightPath(p []*x509.Certificate, kind Kind) bool {
	if kind != TargetKind && kind != UserKind {
		return len(p) == 2 && p[0].IsCA == (kind == IssuerKind || kind == ServicesKind)
	}
	if len(p) != 3 || p[0].IsCA {
		return false
	}
	n, err := NameOf(p[1])
	return err == nil && n.Kind == IssuerKind
}

// standing: nothing on the way is revoked.
func (t Trust) standing(w way, whole standing) error {
	for i, s := range w.steps {
		if s.name.Fleet != t.Fleet {
			return fmt.Errorf("cannot believe what %s vouches for: this is the fleet %q", s.name, t.Fleet)
		}
		if looked := bool(whole) || i == 0; looked && t.Revoked != nil && t.Revoked(s.serial, s.name) {
			return fmt.Errorf("cannot believe %s: %w", s.name, ErrRevoked)
		}
	}
	return nil
}

// SigningKeys are the keys of the signers that are believed at a moment; the others are
// left out, for there are always some that have ended.
func SigningKeys(t Trust, signers []*x509.Certificate, at time.Time) fleet.Keys {
	out := fleet.Keys{}
	for _, c := range signers {
		if _, err := t.Verify([]*x509.Certificate{c}, at, SignerKind); err != nil {
			continue
		}
		if key, ok := c.PublicKey.(ed25519.PublicKey); ok {
			out[fleet.KeyID(key)] = key
		}
	}
	return out
}
