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

// MaxServiceNames is the maximum number of names and addresses in the certificate of a service.
const MaxServiceNames = 16

// CheckServiceName returns an error if name is not a valid DNS name or IP address of a service.
// Only the canonical form is valid, so that equal names are equal texts: in lower case, without a
// final dot, addresses as Go prints them.
func CheckServiceName(name string) error {
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.Zone() != "" || ip.Is4In6() || ip.IsUnspecified() || ip.IsMulticast() || ip.String() != name {
			return fmt.Errorf("cannot have a certificate for the address %.60q: write it as %s, without a zone", name,
				ip.Unmap().WithZone(""))
		}
		return nil
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !hostName(name) || strings.ToLower(name) != name || strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf(
			"cannot have a certificate for %.80q: it must be a DNS name in lower case and without *, or an IP address", name)
	}
	return nil
}

// CheckServiceNames checks all names of a certificate: they must be sorted and unique.
func CheckServiceNames(names []string) error {
	if len(names) == 0 || len(names) > MaxServiceNames {
		return fmt.Errorf("cannot have a certificate for %d names: a certificate has 1 to %d", len(names), MaxServiceNames)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		return errors.New("cannot have a certificate for these names: they must be sorted and unique")
	}
	for _, n := range names {
		if err := CheckServiceName(n); err != nil {
			return err
		}
	}
	return nil
}

// namesOf returns the names and addresses of a certificate, sorted.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return names
}

// VerifyService verifies the chain of a service certificate: the certificate and the certificate of
// its issuer. The issuer must be a service issuer, directly below one of the fleet CAs, and the
// certificate must have no other purpose.
func VerifyService(chain, authorities []*x509.Certificate, at time.Time) error {
	if len(chain) != 2 {
		return fmt.Errorf("cannot trust the certificate of a service: its chain has %d certificates instead of 2", len(chain))
	}
	made, err := NameOf(chain[1])
	if err != nil {
		return err
	}
	if made.Kind != ServicesKind || chain[0].IsCA || len(chain[0].URIs)+len(chain[0].EmailAddresses) > 0 {
		return errors.New(
			"cannot trust the certificate of a service: it has other purposes, or its issuer does not issue such certificates")
	}
	opts := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, c := range authorities {
		opts.Roots.AddCert(c)
	}
	opts.Intermediates.AddCert(chain[1])
	paths, err := chain[0].Verify(opts)
	if err != nil {
		return fmt.Errorf("cannot trust the certificate of a service: %w", err)
	}
	if !slices.ContainsFunc(paths, func(p []*x509.Certificate) bool { return len(p) == 3 }) {
		return errors.New("cannot trust the certificate of a service: its issuer does not issue such certificates")
	}
	return nil
}

// ServiceKey is the key of a service. It is created on the host where it is used.
type ServiceKey struct{ key crypto.Signer }

// NewServiceKey creates a key.
func NewServiceKey() (ServiceKey, error) {
	k, err := newP256()
	return ServiceKey{k}, err
}

// ParseServiceKey parses the text of Encode.
func ParseServiceKey(text []byte) (ServiceKey, error) {
	k, err := oneKey(text)
	return ServiceKey{k}, err
}

// Encode returns the key as PEM, which is a secret.
func (k ServiceKey) Encode() ([]byte, error) { return encodeKeys(k.key) }

// Request returns a certificate request. It contains no names.
func (k ServiceKey) Request() ([]byte, error) { return newRequest(k.key) }

// ParseChain parses a chain of a service certificate and its issuer's. It verifies that the certificate
// is of this key, for exactly these names, and valid; see VerifyService.
func (k ServiceKey) ParseChain(text []byte, names []string,
	authorities []*x509.Certificate) ([]*x509.Certificate, error) {
	chain, err := ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	if len(chain) != 2 || !sameKey(chain[0].PublicKey, k.key.Public()) {
		return nil, errors.New("cannot accept a certificate that does not belong to this key")
	}
	if !slices.Equal(namesOf(chain[0]), names) {
		return nil, fmt.Errorf("cannot accept a certificate for %v: the request was for %v", namesOf(chain[0]), names)
	}
	// The time is the end of the certificate, since clocks of hosts may be wrong.
	return chain, VerifyService(chain, authorities, chain[0].NotAfter)
}
