package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
)

// Lifetimes of certificates. Backdate is subtracted from the time of issue, for hosts with slow
// clocks.
const (
	AuthorityLife = 20 * 365 * 24 * time.Hour
	HubLife       = 365 * 24 * time.Hour
	TargetLife    = 24 * time.Hour
	UserLife      = 90 * 24 * time.Hour // maximum
	Backdate      = 5 * time.Minute
)

const (
	authorityKeyFile = "authority.key"
	authorityFile    = "authority.pem"
)

// CA is the fleet CA: the root of all certificates of a fleet. It is immutable; its methods may be
// called from any goroutine.
type CA struct {
	key   crypto.Signer
	cert  *x509.Certificate
	fleet string
}

// NewCA creates a fleet CA in a directory. If the directory has one already, fs.ErrExist is in the
// chain of the error. After a crash it may be called again.
func NewCA(files host.FS, dir, fleet string, now time.Time) (*CA, error) {
	if err := CheckFleet(fleet); err != nil {
		return nil, err
	}
	directory := Directory{FS: files, Dir: dir}
	if there, err := host.Exists(files, host.JoinPath(dir, authorityFile)); err != nil || there {
		return nil, fmt.Errorf("cannot create a fleet CA in %s: %w", dir, errors.Join(err, already(there)))
	}
	key, err := authorityKey(directory)
	if err != nil {
		return nil, err
	}
	cert, err := selfSigned(key, fleet, now)
	if err != nil {
		return nil, err
	}
	if err := directory.write(authorityFile, EncodeCertificates(cert), true); err != nil {
		return nil, err
	}
	return &CA{key: key, cert: cert, fleet: fleet}, nil
}

func already(there bool) error {
	if there {
		return fmt.Errorf("it has one already: %w", fs.ErrExist)
	}
	return nil
}

// authorityKey returns the key in the directory, which an interrupted call has left, or creates
// one.
func authorityKey(directory Directory) (crypto.Signer, error) {
	text, err := directory.read(authorityKeyFile)
	if err == nil {
		return oneKey(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key, err := newP256()
	if err != nil {
		return nil, err
	}
	text, err = encodeKeys(key)
	if err != nil {
		return nil, err
	}
	return key, directory.write(authorityKeyFile, text, true)
}

func oneKey(text []byte) (crypto.Signer, error) {
	keys, err := parseKeys(text)
	if err != nil {
		return nil, err
	}
	if len(keys) != 1 {
		return nil, fmt.Errorf("cannot read a key: there are %d keys instead of one", len(keys))
	}
	return keys[0], nil
}

// OpenCA reads the fleet CA of a directory. fs.ErrNotExist is in the chain of the error if the
// directory has none, or if its key has been moved off-line.
func OpenCA(files host.FS, dir string) (*CA, error) {
	directory := Directory{FS: files, Dir: dir}
	text, err := directory.read(authorityKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := oneKey(text)
	if err != nil {
		return nil, err
	}
	if text, err = directory.read(authorityFile); err != nil {
		return nil, err
	}
	certs, err := ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	if len(certs) != 1 || !sameKey(certs[0].PublicKey, key.Public()) {
		return nil, fmt.Errorf("cannot use the fleet CA in %s: its certificate does not belong to its key", dir)
	}
	fleet, err := fleetOf(certs[0])
	return &CA{key: key, cert: certs[0], fleet: fleet}, err
}

// fleetOf returns the fleet of the certificate of a fleet CA.
func fleetOf(c *x509.Certificate) (string, error) {
	if !c.IsCA || len(c.PermittedURIDomains) != 1 {
		return "", errors.New("cannot use this certificate as a fleet CA: it is not restricted to one fleet")
	}
	return c.PermittedURIDomains[0], CheckFleet(c.PermittedURIDomains[0])
}

// Certificate returns the certificate of the fleet CA.
func (a *CA) Certificate() *x509.Certificate { return a.cert }

// Fleet returns the name of the fleet.
func (a *CA) Fleet() string { return a.fleet }

// Digest returns the digest of the certificate. Tokens contain it, so that a new host can verify
// its first hub.
func (a *CA) Digest() [sha256.Size]byte { return DigestOf(a.cert) }

// DigestOf returns the SHA-256 of a certificate.
func DigestOf(c *x509.Certificate) [sha256.Size]byte { return sha256.Sum256(c.Raw) }

// Certify makes the three certificates of a hub from its Hub.Request: of the hub itself, with its
// DNS names and IP addresses in hosts, of its issuer, and of its signer. The result is for
// Hub.Install and is not secret. Callers must verify that the request is from a new hub: a hub
// controls the whole fleet.
func (a *CA) Certify(request []byte, hub string, hosts []string, now time.Time) ([]byte, error) {
	keys, err := parseHubRequest(request)
	if err != nil {
		return nil, err
	}
	own, err := hubTemplate(slices.Compact(slices.Sorted(slices.Values(hosts))))
	if err != nil {
		return nil, err
	}
	out := []*x509.Certificate{a.cert}
	for i, template := range []*x509.Certificate{own, issuerTemplate(a.fleet), {}} {
		n := Name{Fleet: a.fleet, Kind: hubKinds()[i], ID: hub}
		c, err := a.sign(template, n, keys[i], now)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return EncodeCertificates(out...), nil
}

func (a *CA) sign(template *x509.Certificate, n Name, key crypto.PublicKey, now time.Time) (*x509.Certificate, error) {
	return issue(template, n, key, issuance{parent: a.cert, signer: a.key, now: now, life: HubLife})
}

// hubKinds are the kinds of a hub's certificates, in the order of requests and answers.
func hubKinds() []Kind { return []Kind{HubKind, IssuerKind, SignerKind} }

func parseHubRequest(request []byte) ([]crypto.PublicKey, error) {
	raw, err := blocks(request, requestBlock, 3)
	if err == nil && len(raw) != 3 {
		err = fmt.Errorf("it requests %d certificates instead of 3", len(raw))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the request of a hub: %w", err)
	}
	var out []crypto.PublicKey
	for i, der := range raw {
		key, err := requestKey(der)
		if err != nil {
			return nil, err
		}
		_, curve := key.(*ecdsa.PublicKey)
		_, edwards := key.(ed25519.PublicKey)
		if hubKinds()[i] == SignerKind && !edwards || hubKinds()[i] != SignerKind && !curve {
			return nil, errors.New("cannot read the request of a hub: its keys are not P-256, P-256 and ed25519")
		}
		if slices.ContainsFunc(out, func(k crypto.PublicKey) bool { return sameKey(k, key) }) {
			return nil, errors.New("cannot accept the request of a hub that uses one key for two certificates")
		}
		out = append(out, key)
	}
	return out, nil
}

func hubTemplate(hosts []string) (*x509.Certificate, error) {
	t := &x509.Certificate{KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if hostName(h) {
			t.DNSNames = append(t.DNSNames, h)
		} else {
			return nil, fmt.Errorf("cannot make a certificate for %.80q: it is neither an IP address nor a DNS name", h)
		}
	}
	return t, nil
}

func hostName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if !worded(label, 63, letters, "-") {
			return false
		}
	}
	return len(s) <= 253
}

// issuerTemplate restricts an issuer to client certificates of its own fleet, without DNS names,
// addresses or e-mail addresses.
func issuerTemplate(fleet string) *x509.Certificate {
	zero4, zero6 := net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
		net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	return &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		ExtKeyUsage:                 []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		PermittedDNSDomainsCritical: true, PermittedURIDomains: []string{fleet},
		ExcludedDNSDomains: []string{""}, ExcludedEmailAddresses: []string{""},
		ExcludedIPRanges: []*net.IPNet{&zero4, &zero6},
	}
}
