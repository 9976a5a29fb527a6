package records

import (
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// BarredName is a name in a revoked certificate of a target. A new certificate with this name needs
// the approval of a user, even if the policy allows it.
type BarredName struct {
	Name   string `json:"name"`
	By     string `json:"by"`
	At     int64  `json:"at"` // seconds since 1970
	Reason string `json:"reason,omitempty"`
}

// maxBarred limits the barred names of one target.
const maxBarred = 256

// WhyBarred returns why a certificate with these names needs approval, or "".
func (s TargetCertificates) WhyBarred(names []string) string {
	for _, b := range s.Barred {
		if slices.Contains(names, b.Name) {
			return fmt.Sprintf("a certificate of %s was revoked by %s: %s", b.Name, b.By, b.Reason)
		}
	}
	return ""
}

// Bar makes certificates with any of these names need approval, and withdraws such approvals.
func (s *TargetCertificates) Bar(names []string, by, reason string, now time.Time) {
	s.Approved = slices.DeleteFunc(slices.Clone(s.Approved), func(a ApprovedNames) bool {
		return slices.ContainsFunc(a.Names, func(n string) bool { return slices.Contains(names, n) })
	})
	for _, n := range names {
		s.Unbar([]string{n})
		s.Barred = append(s.Barred, BarredName{Name: n, By: by, At: now.Unix(), Reason: reason})
	}
	s.Barred = s.Barred[max(0, len(s.Barred)-maxBarred):]
}

// Unbar removes the effect of Bar.
func (s *TargetCertificates) Unbar(names []string) {
	s.Barred = slices.DeleteFunc(slices.Clone(s.Barred), func(b BarredName) bool { return slices.Contains(names, b.Name) })
}

// RevocationList is a signed list of revoked certificates. A hub signs its own list, and a hub with the
// key of the fleet CA signs a second one. Every hub serves all lists.
type RevocationList struct {
	List   string                   `json:"list"`             // PEM
	Issuer string                   `json:"issuer,omitempty"` // PEM of the signing certificate; "" for the fleet CA
	All    []pki.RevokedCertificate `json:"all"`
	Number int64                    `json:"number"`
	At     int64                    `json:"at"`    // seconds since 1970
	Until  int64                    `json:"until"` // seconds since 1970
}

// TargetCertificates contains the certificates for services of a target. Its key is the target's
// ID.
type TargetCertificates struct {
	Target   fleet.TargetID      `json:"target"`
	Name     string              `json:"name"` // at the last change
	Approved []ApprovedNames     `json:"approved,omitempty"`
	Issued   []IssuedCertificate `json:"issued,omitempty"`
	Barred   []BarredName        `json:"barred,omitempty"`
}

// ApprovedNames is an approval by a user: the target may get certificates with exactly this set of
// names, until the approval is withdrawn.
type ApprovedNames struct {
	Names []string `json:"names"`
	By    string   `json:"by"`
	At    int64    `json:"at"` // seconds since 1970
}

// IssuedCertificate describes a certificate that a hub issued.
type IssuedCertificate struct {
	Serial string   `json:"serial"`
	Names  []string `json:"names"`
	At     int64    `json:"at"`    // seconds since 1970
	Until  int64    `json:"until"` // seconds since 1970
	Hub    string   `json:"hub"`   // the name of the issuing hub
	By     string   `json:"by"`    // "the policy", or the user who approved it
	// RevokedBy is the user who revoked it, or "".
	RevokedBy string `json:"forbidden,omitempty"`
}

// ApprovedBy returns the user who approved exactly these names.
func (s TargetCertificates) ApprovedBy(names []string) (by string, ok bool) {
	for _, a := range s.Approved {
		if slices.Equal(a.Names, names) {
			return a.By, true
		}
	}
	return "", false
}

// Current returns a copy without expired certificates.
func (s TargetCertificates) Current(now time.Time) TargetCertificates {
	s.Issued = slices.DeleteFunc(slices.Clone(s.Issued), func(c IssuedCertificate) bool { return c.Until <= now.Unix() })
	return s
}
