package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// issuance has the issuer, the time and the lifetime of a certificate.
type issuance struct {
	parent *x509.Certificate
	signer crypto.Signer
	now    time.Time
	life   time.Duration
}

// issue completes a template and signs it. The certificate is never valid before or after its
// parent.
func issue(t *x509.Certificate, n Name, key crypto.PublicKey, by issuance) (*x509.Certificate, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := stamp(t, string(n.Kind)+" "+n.ID, by.now, by.life); err != nil {
		return nil, err
	}
	t.URIs = n.uri()
	if t.KeyUsage == 0 {
		t.KeyUsage = x509.KeyUsageDigitalSignature
	}
	if t.NotAfter.After(by.parent.NotAfter) {
		t.NotAfter = by.parent.NotAfter
	}
	if t.NotBefore.Before(by.parent.NotBefore) {
		t.NotBefore = by.parent.NotBefore
	}
	if !t.NotAfter.After(by.now) {
		return nil, fmt.Errorf("cannot make a certificate for %s: the certificate of its issuer expired at %s. Renew the certificates of the hub first",
			n, by.parent.NotAfter.UTC().Format(time.RFC3339))
	}
	return create(t, by.parent, key, by.signer)
}

// stamp sets the serial number, the subject and the validity of a template.
func stamp(t *x509.Certificate, subject string, now time.Time, life time.Duration) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return fmt.Errorf("cannot make the serial number of a certificate: %w", err)
	}
	t.SerialNumber = serial.Add(serial, big.NewInt(1))
	t.Subject = pkix.Name{CommonName: subject}
	t.NotBefore, t.NotAfter = now.Add(-Backdate), now.Add(life)
	return nil
}

func create(t, parent *x509.Certificate, key crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key, signer)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("cannot read a certificate that was just made: %w", err)
	}
	return c, nil
}

// selfSigned makes the certificate of a fleet CA. It is restricted to names of its fleet.
func selfSigned(key crypto.Signer, fleetName string, now time.Time) (*x509.Certificate, error) {
	t := &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, MaxPathLen: 1, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		PermittedDNSDomainsCritical: true, PermittedURIDomains: []string{fleetName},
	}
	if err := stamp(t, "fettle "+fleetName, now, AuthorityLife); err != nil {
		return nil, err
	}
	return create(t, t, key.Public(), key)
}

// Issuer makes certificates of targets and users, as one hub. It is immutable.
type Issuer struct {
	cert  *x509.Certificate
	key   crypto.Signer
	fleet string
}

// Certificate returns the certificate of the issuer, which follows each issued certificate in its
// chain.
func (i *Issuer) Certificate() *x509.Certificate { return i.cert }

// Target makes the certificate of a target for TargetLife.
func (i *Issuer) Target(key crypto.PublicKey, id fleet.TargetID, c Claims, now time.Time) (*x509.Certificate, error) {
	e, err := c.extension()
	if err != nil {
		return nil, err
	}
	n := Name{Fleet: i.fleet, Kind: TargetKind, ID: string(id)}
	return i.issue(&x509.Certificate{ExtraExtensions: []pkix.Extension{e}}, n, key, now, TargetLife)
}

// User makes the certificate of a user or program, for at most UserLife. It contains no rights.
func (i *Issuer) User(key crypto.PublicKey, name string, life time.Duration, now time.Time) (*x509.Certificate, error) {
	if life <= 0 || life > UserLife {
		return nil, fmt.Errorf("cannot make a certificate of a user for %s: the maximum is %s", life, UserLife)
	}
	return i.issue(&x509.Certificate{}, Name{Fleet: i.fleet, Kind: UserKind, ID: name}, key, now, life)
}

func (i *Issuer) issue(t *x509.Certificate, n Name, key crypto.PublicKey, now time.Time,
	life time.Duration) (*x509.Certificate, error) {
	if k, ok := key.(*ecdsa.PublicKey); !ok || k.Curve != elliptic.P256() {
		return nil, fmt.Errorf("cannot make a certificate for %s: its key is not P-256", n)
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return issue(t, n, key, issuance{parent: i.cert, signer: i.key, now: now, life: life})
}
