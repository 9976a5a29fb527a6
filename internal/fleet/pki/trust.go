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

// Trust verifies certificates of one fleet. It must not change during use.
type Trust struct {
	Fleet       string // the fleet of all names
	Authorities []*x509.Certificate
	// Revoked returns true if a certificate is revoked, by its serial and its name. It may be
	// called from any goroutine; nil revokes nothing.
	Revoked func(serial string, n Name) bool
	// Paths caches verified paths to a fleet CA; nil caches nothing. Revocations are checked each
	// time.
	Paths *Paths
}

// Peer is the owner of a verified certificate.
type Peer struct {
	Name        Name
	Serial      string
	Certificate *x509.Certificate
}

// Verify verifies a certificate, which is the first of the chain. The certificate must be of one of
// the kinds and of the fleet, and must not have expired at the given time. It must have the path to a
// fleet CA that its kind requires, and neither the certificate nor its issuer may be revoked.
// ErrExpired and ErrRevoked are in the chain of the error.
//
// A certificate that begins later is valid: it exists, so a hub has signed it, and only a clock is
// wrong. Otherwise one hub whose clock jumps ahead for a moment would lock out the targets that
// renew their certificates in that moment.
func (t Trust) Verify(chain []*x509.Certificate, at time.Time, kinds ...Kind) (Peer, error) {
	return t.verify(chain, at, wholeStanding, kinds...)
}

// standing defines which certificates of a path are checked for revocation.
type standing bool

const (
	wholeStanding standing = true
	// ownStanding ignores a revoked issuer: the client will receive another certificate.
	ownStanding standing = false
)

func (t Trust) verify(chain []*x509.Certificate, at time.Time, whole standing, kinds ...Kind) (Peer, error) {
	if len(chain) == 0 {
		return Peer{}, errors.New("cannot trust a connection without a certificate")
	}
	leaf := chain[0]
	n, err := NameOf(leaf)
	if err != nil {
		return Peer{}, err
	}
	if n.Fleet != t.Fleet {
		return Peer{}, fmt.Errorf("cannot trust a certificate of the fleet %q: this is the fleet %q", n.Fleet, t.Fleet)
	}
	if !slices.Contains(kinds, n.Kind) {
		return Peer{}, fmt.Errorf("cannot accept the certificate of a %s here", n.Kind)
	}
	p := Peer{Name: n, Serial: SerialOf(leaf), Certificate: leaf}
	if at.Before(leaf.NotBefore) {
		at = leaf.NotBefore // the clock of the hub that signed it, or of this hub, is wrong
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

// way returns the path from a certificate to a fleet CA, in the form for the cache.
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
			break // the fleet CA itself is trusted
		}
		n, err := NameOf(c)
		if err != nil {
			return way{}, err
		}
		w.steps = append(w.steps, newWaypoint(n, SerialOf(c), i == 0))
	}
	return w, nil
}

// path returns the path from a certificate to a fleet CA, with the length that the kind requires.
func (t Trust) path(chain []*x509.Certificate, kind Kind, at time.Time) ([]*x509.Certificate, error) {
	if p := t.known(chain, kind, at); p != nil {
		return p, nil
	}
	opts := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at,
		KeyUsages: usages(kind)}
	for _, c := range t.Authorities {
		opts.Roots.AddCert(c)
	}
	for _, c := range chain[1:min(len(chain), 8)] {
		opts.Intermediates.AddCert(c)
	}
	paths, err := chain[0].Verify(opts)
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return nil, fmt.Errorf("cannot trust a certificate that expired at %s: %w",
			chain[0].NotAfter.UTC().Format(time.RFC3339), ErrExpired)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot trust a certificate that the CA of this fleet has not signed: %w", err)
	}
	for _, p := range paths {
		if rightPath(p, kind) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("cannot trust the certificate of a %s: its issuer does not issue such certificates", kind)
}

// known returns the path of a certificate if the path of its issuer is cached, or nil. This needs
// half of the computation. It requires that the issuer has the same name constraints as the fleet
// CA.
func (t Trust) known(chain []*x509.Certificate, kind Kind, at time.Time) []*x509.Certificate {
	if t.Paths == nil || kind != TargetKind && kind != UserKind {
		return nil
	}
	for _, c := range chain[1:min(len(chain), 8)] {
		if !c.IsCA || !c.PermittedDNSDomainsCritical || !slices.Equal(c.PermittedURIDomains, []string{t.Fleet}) {
			continue
		}
		above, err := t.Paths.issuer(c, at, func() ([]*x509.Certificate,
			error) {
			return t.path([]*x509.Certificate{c}, IssuerKind, at)
		})
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

// rightPath: hubs, signers and issuers must be directly below a fleet CA, and targets and users
// below an issuer. A stolen issuing key therefore cannot make a hub.
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

// standing returns an error if a certificate of the path is revoked.
func (t Trust) standing(w way, whole standing) error {
	for i, s := range w.steps {
		if s.name.Fleet != t.Fleet {
			return fmt.Errorf("cannot trust certificates of %s: this is the fleet %q", s.name, t.Fleet)
		}
		if looked := bool(whole) || i == 0; looked && t.Revoked != nil && t.Revoked(s.serial, s.name) {
			return fmt.Errorf("cannot trust %s: %w", s.name, ErrRevoked)
		}
	}
	return nil
}

// SigningKeys returns the keys of the signers that are trusted at the given time. Other signers,
// such as expired ones, are skipped.
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
