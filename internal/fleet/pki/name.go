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

// Kind is what a certificate is for.
type Kind string

// The kinds of names. The zero value is none of them and is believed nowhere.
const (
	HubKind    Kind = "hub"    // serves agents and people, and calls other hubs
	SignerKind Kind = "signer" // the key with which a hub signs assignments and facts
	IssuerKind Kind = "issuer" // the key with which a hub makes certificates
	// ServicesKind is the key with which a hub makes certificates of services.
	ServicesKind Kind = "services"
	TargetKind   Kind = "target"
	UserKind     Kind = "person" // a person or a program of theirs
)

// Name is who a certificate is about: fettle://FLEET/KIND/ID.
type Name struct {
	Fleet string // the authority's
	Kind  Kind
	ID    string
}

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
	letters     = lowerDigits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// worded tells whether a text has 1 to most characters of a set or of more, and begins
// and ends with one of the set.
func worded(s string, most int, set, more string) bool {
	return len(s) > 0 && len(s) <= most && strings.Trim(s, set+more) == "" &&
		strings.IndexByte(set, s[0]) >= 0 && strings.IndexByte(set, s[len(s)-1]) >= 0
}

// CheckFleet says what is wrong with the name of a fleet, or the ID of a hub.
func CheckFleet(name string) error {
	if !worded(name, 63, lowerDigits, "-") {
		return fmt.Errorf("cannot call a fleet or a hub %.70q: it has up to 63 of a-z, 0-9 and -, and begins and ends with a letter or digit", name)
	}
	return nil
}

// CheckUser says what is wrong with the name of a person.
func CheckUser(name string) error {
	if !worded(name, 60, letters, "._@+-") {
		return fmt.Errorf("cannot call a person %.70q: a name has up to 60 letters, digits and . _ @ + -, and begins and ends with a letter or digit", name)
	}
	return nil
}

// Check says what is wrong with a name.
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
	return fmt.Errorf("cannot take a name of the kind %.40q: there are hub, signer, issuer, services, target and person", string(n.Kind))
}

// String is the URI, which ParseName reads.
func (n Name) String() string { return "fettle://" + n.Fleet + "/" + string(n.Kind) + "/" + n.ID }

// ParseName reads a name strictly.
func ParseName(s string) (Name, error) {
	rest, ok := strings.CutPrefix(s, "fettle://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return Name{}, fmt.Errorf("cannot read %.80q as a name: it is fettle://FLEET/KIND/ID", s)
	}
	n := Name{Fleet: parts[0], Kind: Kind(parts[1]), ID: parts[2]}
	return n, n.Check()
}

// uri is the name as certificates have it.
func (n Name) uri() []*url.URL {
	return []*url.URL{{Scheme: "fettle", Host: n.Fleet, Path: "/" + string(n.Kind) + "/" + n.ID}}
}

// NameOf reads the name in a certificate. It is a claim until Trust.Verify has said that
// it may be believed.
func NameOf(c *x509.Certificate) (Name, error) {
	if c == nil || len(c.URIs) != 1 {
		return Name{}, fmt.Errorf("cannot find a name in this certificate: it has not exactly one URI")
	}
	return ParseName(c.URIs[0].String())
}

// SerialOf is the number of a certificate as stores and revocations have it, in hex.
func SerialOf(c *x509.Certificate) string {
	if c.SerialNumber == nil {
		return ""
	}
	return c.SerialNumber.Text(16)
}

// KeyDigest names a public key: "sha256:" and hex of its PKIX form.
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
		return sum, fmt.Errorf("cannot name a key of this type: %w", err)
	}
	return sha256.Sum256(der), nil
}

var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// TargetIDOf is the identity of whoever holds a key: the first 128 bits of its digest.
func TargetIDOf(public crypto.PublicKey) (fleet.TargetID, error) {
	sum, err := keySum(public)
	if err != nil {
		return "", err
	}
	return fleet.ParseTargetID(lower.EncodeToString(sum[:16]))
}
