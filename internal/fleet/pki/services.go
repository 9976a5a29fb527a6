package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/host"
)

// ServiceLife is the lifetime of the certificate of a service.
const ServiceLife = 30 * 24 * time.Hour

const (
	servicesKeyFile = "services.key"
	servicesFile    = "services.pem"
)

// Services is the service issuer of a hub: it makes certificates of services. Its own key and
// certificate are directly below the fleet CA and restricted to server certificates. Its methods
// may be called from any goroutine.
type Services struct {
	directory Directory
	key       crypto.Signer

	mu    sync.RWMutex
	certs []*x509.Certificate // fleet CA, then the issuer's own; nil before Install
}

// OpenServices reads the service issuer of a directory, and creates its key if there is none.
func OpenServices(files host.FS, dir string) (*Services, error) {
	s := &Services{directory: Directory{FS: files, Dir: dir}}
	text, err := s.directory.read(servicesKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newServicesKey(); err == nil {
			err = s.directory.write(servicesKeyFile, text, true)
		}
	}
	if err != nil {
		return nil, err
	}
	if s.key, err = oneKey(text); err != nil {
		return nil, err
	}
	text, err = s.directory.read(servicesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s.certs, err = s.check(text)
	return s, err
}

func newServicesKey() ([]byte, error) {
	k, err := newP256()
	if err != nil {
		return nil, err
	}
	return encodeKeys(k)
}

// Request returns the certificate request for the key, see CA.CertifyServices. It is not secret.
func (s *Services) Request() ([]byte, error) { return newRequest(s.key) }

// Install durably stores the certificates of CA.CertifyServices, and uses them at once.
func (s *Services) Install(certificates []byte) error {
	certs, err := s.check(certificates)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.certs != nil && (!s.certs[0].Equal(certs[0]) || s.certs[1].URIs[0].String() != certs[1].URIs[0].String()) {
		return errors.New("cannot install certificates of a different fleet CA or hub: use a separate directory for each hub")
	}
	if err := s.directory.write(servicesFile, EncodeCertificates(certs...), false); err != nil {
		return err
	}
	s.certs = certs
	return nil
}

func (s *Services) check(text []byte) ([]*x509.Certificate, error) {
	certs, err := ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	if len(certs) != 2 {
		return nil, fmt.Errorf("cannot use %d certificates for the issuer of service certificates: there must be 2",
			len(certs))
	}
	name, err := fleetOf(certs[0])
	if err != nil {
		return nil, err
	}
	if !sameKey(certs[1].PublicKey, s.key.Public()) {
		return nil, errors.New("cannot use this certificate of a services issuer: it does not belong to the key of this hub")
	}
	_, err = Trust{Fleet: name, Authorities: certs[:1]}.Verify(certs[1:], certs[1].NotAfter, ServicesKind)
	return certs, err
}

// Certificate returns the certificate of the service issuer, which follows each issued certificate
// in its chain. ErrNoCertificates is in the chain of the error before the fleet CA has certified
// it.
func (s *Services) Certificate() (*x509.Certificate, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.certs == nil {
		return nil, fmt.Errorf("cannot make certificates of services: %w", ErrNoCertificates)
	}
	return s.certs[1], nil
}

// Issue makes the certificate of a service. The names must be valid for CheckServiceNames. The
// caller must have decided that the service may have these names.
func (s *Services) Issue(key crypto.PublicKey, names []string, now time.Time) (*x509.Certificate, error) {
	parent, err := s.Certificate()
	if err != nil {
		return nil, err
	}
	t, err := serviceTemplate(key, names)
	if err != nil {
		return nil, err
	}
	subject := "service"
	if len(names[0]) <= 64 {
		subject = names[0]
	}
	if err := stamp(t, subject, now, ServiceLife); err != nil {
		return nil, err
	}
	if t.NotAfter.After(parent.NotAfter) {
		t.NotAfter = parent.NotAfter
	}
	if t.NotBefore.Before(parent.NotBefore) {
		t.NotBefore = parent.NotBefore
	}
	if !t.NotAfter.After(now) {
		return nil, fmt.Errorf("cannot make a certificate for %s: the certificate of its issuer expired at %s",
			names[0], parent.NotAfter.UTC().Format(time.RFC3339))
	}
	c, err := create(t, parent, key, s.key)
	if err != nil {
		return nil, err
	}
	return c, s.allows(c, now)
}

// allows verifies a new certificate. For example, a name of the hub itself is refused.
func (s *Services) allows(c *x509.Certificate, now time.Time) error {
	s.mu.RLock()
	certs := s.certs
	s.mu.RUnlock()
	if err := VerifyService([]*x509.Certificate{c, certs[1]}, certs[:1], now); err != nil {
		return fmt.Errorf(
			"cannot make a certificate for %v: %w. Names and addresses of hubs, and names below them, are only for hubs",
			namesOf(c), err)
	}
	return nil
}

func serviceTemplate(key crypto.PublicKey, names []string) (*x509.Certificate, error) {
	if k, ok := key.(*ecdsa.PublicKey); !ok || k.Curve != elliptic.P256() {
		return nil, errors.New("cannot make a certificate for this key: it is not P-256")
	}
	if err := CheckServiceNames(names); err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	return t, nil
}

// CertifyServices makes the certificate of a hub's service issuer, from Services.Request. hosts are
// the names and addresses of that hub: its service issuer cannot issue certificates for them. The
// result is for Services.Install and is not secret.
func (a *CA) CertifyServices(request []byte, hub string, hosts []string, now time.Time) ([]byte, error) {
	key, err := ParseRequest(request)
	if err != nil {
		return nil, err
	}
	if k, ok := key.(*ecdsa.PublicKey); !ok || k.Curve != elliptic.P256() {
		return nil, errors.New("cannot certify an issuer of service certificates: its key is not P-256")
	}
	template, err := servicesTemplate(a.fleet, hosts)
	if err != nil {
		return nil, err
	}
	c, err := a.sign(template, Name{Fleet: a.fleet, Kind: ServicesKind, ID: hub}, key, now)
	if err != nil {
		return nil, err
	}
	return EncodeCertificates(a.cert, c), nil
}

// servicesTemplate restricts a service issuer to server certificates. URIs of the fleet are
// excluded, and the fleet CA permits no other URIs. A stolen key therefore cannot make certificates
// of hubs, targets or users. The hub's own names are excluded for clients that identify a hub only
// by its name, such as browsers.
func servicesTemplate(fleet string, hosts []string) (*x509.Certificate, error) {
	t := &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage:                 []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true, ExcludedURIDomains: []string{fleet, ""}, ExcludedEmailAddresses: []string{""},
	}
	own, err := hubTemplate(slices.Compact(slices.Sorted(slices.Values(hosts))))
	if err != nil {
		return nil, err
	}
	t.ExcludedDNSDomains = own.DNSNames
	for _, ip := range own.IPAddresses {
		if v4 := ip.To4(); v4 != nil {
			ip = v4
		}
		t.ExcludedIPRanges = append(t.ExcludedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
	}
	return t, nil
}

// RenewAt returns the time at which the certificate must be renewed, or the zero time if there is
// none yet.
func (s *Services) RenewAt() time.Time {
	c, err := s.Certificate()
	if err != nil {
		return time.Time{}
	}
	return RenewAt(c)
}
