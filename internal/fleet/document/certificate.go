package document

import "fettle.dev/fettle/internal/fleet"

// CertificatePageFormat is the format of CertificatePage.
const CertificatePageFormat = "fettle.fleet.certificates/2"

// Certificate is one of a service that a hub made.
type Certificate struct {
	Target fleet.TargetID `json:"target"`
	Name   string         `json:"name"` // the target's
	Serial string         `json:"serial"`
	Names  []string       `json:"names"`
	At     int64          `json:"at"`
	Until  int64          `json:"until"`
	Hub    string         `json:"hub"`
	By     string         `json:"by"` // who let it happen
	// RevokedBy is the user who revoked it, or "".
	RevokedBy string `json:"revoked_by,omitempty"`
}

// CertificateApproval lets a target have certificates for exactly these names.
type CertificateApproval struct {
	Target fleet.TargetID `json:"target"`
	Name   string         `json:"name"`
	Names  []string       `json:"names"`
	By     string         `json:"by"`
	At     int64          `json:"at"`
}

// CertificatePage is all that have not ended, and whose were approved by somebody.
type CertificatePage struct {
	Format       string                `json:"format"`
	Certificates []Certificate         `json:"certificates"`
	Approved     []CertificateApproval `json:"approved"`
}

// CertificateRevocation selects the certificates to revoke: one by its serial, or the certificates
// of a target, by identity or name, with one name or with any name.
type CertificateRevocation struct {
	Serial string `json:"serial,omitempty"`
	Target string `json:"target,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}
