package pki

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// MaxServiceNames is how many names and addresses one certificate of a service has at most.
const MaxServiceNames = 16

// CheckServiceName says what is wrong with a name or an address of a service. It is written in
// one way only, so that names which are the same are equal: in lower case, without a point at
// the end, addresses as Go prints them.
func CheckServiceName(name string) error {
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.Zone() != "" || ip.Is4In6() || ip.IsUnspecified() || ip.IsMulticast() || ip.String() != name {
			return fmt.Errorf("cannot have a certificate for the address %.60q: write it as %s, without a zone", name, ip.Unmap().WithZone(""))
		}
		return nil
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !hostName(name) || strings.ToLower(name) != name || strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf("cannot have a certificate for %.80q: it is a name in DNS, in lower case and without *, or an address", name)
	}
	return nil
}

// CheckServiceNames says what is wrong with all of a certificate: they are sorted, each once.
func CheckServiceNames(names []string) error {
	if len(names) == 0 || len(names) > MaxServiceNames {
		return fmt.Errorf("cannot have a certificate for %d names: there are 1 to %d", len(names), MaxServiceNames)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		return errors.New("cannot have a certificate for names that are not sorted, each once")
	}
	for _, n := range names {
		if err := CheckServiceName(n); err != nil {
			return err
		}
	}
	return nil
}

// namesOf are the names and addresses of a certificate, sorted.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return names
}

// VerifyService believes the certificate of a service, with that of who made it behind it, if
// it comes from one of the authorities by what makes such certificates and nothing else.
func VerifyService(chain, authorities []*x509.Certificate, at time.Time) error {
	if len(chain) != 2 {
		return fmt.Errorf("cannot believe the certificate of a service in a chain of %d: there are 2", len(chain))
	}
	made, err := NameOf(chain[1])
	if err != nil {
		return err
	}
	if made.Kind != ServicesKind || chain[0].IsCA || len(chain[0].URIs)+len(chain[0].EmailAddresses) > 0 {
		return errors.New("cannot believe the certificate of a service: it is more than one, or does not come from where such come from")
	}
	opts := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, c := range authorities {
		opts.Roots.AddCert(c)
	}
	opts.Intermediates.AddCert(chain[1])
	paths, err := chain[0].Verify(opts)
	if err != nil {
		return fmt.Errorf("cannot believe the certificate of a service: %w", err)
	}
	if !slices.ContainsFunc(paths, func(p []*x509.Certificate) bool { return len(p) == 3 }) {
		return errors.New("cannot believe the certificate of a service: it does not come from where such come from")
	}
	return nil
}

// ServiceKey is a key of a service, made where it is used.
type ServiceKey struct{ key crypto.Signer }

// NewServiceKey makes one.
func NewServiceKey() (ServiceKey, error) {
	k, err := newP256()
	return ServiceKey{k}, err
}

// ParseServiceKey reads what Encode gave.
func ParseServiceKey(text []byte) (ServiceKey, error) {
	k, err := oneKey(text)
	return ServiceKey{k}, err
}

// Encode is the key as a file has it: PEM, and a secret.
func (k ServiceKey) Encode() ([]byte, error) { return encodeKeys(k.key) }

// Request asks for a certificate. It says nothing of names.
func (k ServiceKey) Request() ([]byte, error) { return newRequest(k.key) }

// Take reads a certificate of a service with that of who made it behind it, and believes it if
// it is of this key, for these names, and comes from one of the authorities.
func (k ServiceKey) Take(text []byte, names []string, authorities []*x509.Certificate) ([]*x509.Certificate, error) {
	chain, err := ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	if len(chain) != 2 || !sameKey(chain[0].PublicKey, k.key.Public()) {
		return nil, errors.New("cannot take a certificate that is not of this key")
	}
	if !slices.Equal(namesOf(chain[0]), names) {
		return nil, fmt.Errorf("cannot take a certificate for %v where %v are asked for", namesOf(chain[0]), names)
	}
	// Its own end is a moment at which it is to hold: clocks of machines may be wrong.
	return chain, VerifyService(chain, authorities, chain[0].NotAfter)
}
