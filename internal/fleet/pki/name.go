package pki

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// Kind is the purpose of a certificate.
type Kind string

// The kinds of names. The zero value is invalid.
const (
	HubKind    Kind = "hub"    // server for agents and users, and client of other hubs
	SignerKind Kind = "signer" // the key with which a hub signs assignments and revocations
	IssuerKind Kind = "issuer" // the key with which a hub issues certificates of targets and users
	// ServicesKind is the key with which a hub issues certificates of services.
	ServicesKind Kind = "services"
	TargetKind   Kind = "target"
	UserKind     Kind = "person" // a user or a program
)

// Name is the subject of a certificate: fettle://FLEET/KIND/ID.
type Name struct {
	Fleet string // name of the fleet
	Kind  Kind
	ID    string
}

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
	letters     = lowerDigits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// worded returns true if s has 1 to most characters of set and more, and begins and ends with a
// character of set.
func worded(s string, most int, set, more string) bool {
	return len(s) > 0 && len(s) <= most && strings.Trim(s, set+more) == "" &&
		strings.IndexByte(set, s[0]) >= 0 && strings.IndexByte(set, s[len(s)-1]) >= 0
}

// CheckFleet returns an error if name is not a valid name of a fleet or a hub.
func CheckFleet(name string) error {
	if !worded(name, 63, lowerDigits, "-") {
		return fmt.Errorf("cannot use %.70q as the name of a fleet or a hub: a name has up to 63 of a-z, 0-9 and -, and begins and ends with a letter or digit",
			name)
	}
	return nil
}

// CheckUser returns an error if name is not a valid name of a user.
func CheckUser(name string) error {
	if !worded(name, 60, letters, "._@+-") {
		return fmt.Errorf("cannot use %.70q as the name of a user: a name has up to 60 letters, digits and . _ @ + -, and begins and ends with a letter or digit",
			name)
	}
	return nil
}

// Check returns an error if a name is invalid.
func (n Name) Check() error {
	if err := CheckFleet(n.Fleet); err != nil {
		return err
	}
	switch n.Kind {
	case HubKind, SignerKind, IssuerKind, ServicesKind:
		return CheckFleet(n.ID)
	case TargetKind:
		_, err := fleet.ParseTargetID(n.ID)
		return err
	case UserKind:
		return CheckUser(n.ID)
	}
	return fmt.Errorf("cannot use a name of the kind %.40q: the kinds are hub, signer, issuer, services, target and %s",
		string(n.Kind), string(UserKind))
}

// String returns the URI of the name. ParseName parses it.
func (n Name) String() string { return "fettle://" + n.Fleet + "/" + string(n.Kind) + "/" + n.ID }

// ParseName parses the URI of a name. It accepts only the form of String.
func ParseName(s string) (Name, error) {
	rest, ok := strings.CutPrefix(s, "fettle://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return Name{}, fmt.Errorf("cannot read %.80q as a name: a name is fettle://FLEET/KIND/ID", s)
	}
	n := Name{Fleet: parts[0], Kind: Kind(parts[1]), ID: parts[2]}
	return n, n.Check()
}

// uri returns the URI for a certificate.
func (n Name) uri() []*url.URL {
	return []*url.URL{{Scheme: "fettle", Host: n.Fleet, Path: "/" + string(n.Kind) + "/" + n.ID}}
}

// NameOf returns the name in a certificate. Trust.Verify must have accepted the certificate before
// the name can be trusted.
func NameOf(c *x509.Certificate) (Name, error) {
	if c == nil || len(c.URIs) != 1 {
		return Name{}, fmt.Errorf("cannot find a name in this certificate: it does not have exactly one URI")
	}
	return ParseName(c.URIs[0].String())
}

// SerialOf returns the serial number of a certificate in hex, as stores and revocations contain it.
func SerialOf(c *x509.Certificate) string {
	if c.SerialNumber == nil {
		return ""
	}
	return c.SerialNumber.Text(16)
}

// KeyDigest returns the digest of a public key: "sha256:" and hex of the SHA-256 of its PKIX form.
func KeyDigest(public crypto.PublicKey) (string, error) {
	sum, err := keySum(public)
	if err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func keySum(public crypto.PublicKey) (sum [sha256.Size]byte, err error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return sum, fmt.Errorf("cannot compute the digest of a key of this type: %w", err)
	}
	return sha256.Sum256(der), nil
}

var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// TargetIDOf returns the identity of the holder of a key: the first 128 bits of its digest.
func TargetIDOf(public crypto.PublicKey) (fleet.TargetID, error) {
	sum, err := keySum(public)
	if err != nil {
		return "", err
	}
	return fleet.ParseTargetID(lower.EncodeToString(sum[:16]))
}
