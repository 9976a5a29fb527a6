package document

import "fettle.dev/fettle/internal/fleet"

// CertificatePageFormat is the format of CertificatePage.
const CertificatePageFormat = "fettle.fleet.certificates/2"

// Certificate is a certificate of a service that a hub issued.
type Certificate struct {
	Target fleet.TargetID `json:"target"`
	Name   string         `json:"name"` // of the target
	Serial string         `json:"serial"`
	Names  []string       `json:"names"`
	At     int64          `json:"at"`
	Until  int64          `json:"until"`
	Hub    string         `json:"hub"`
	By     string         `json:"by"` // the user or policy that approved it
	// RevokedBy is the user who revoked it, or "".
	RevokedBy string `json:"revoked_by,omitempty"`
}

// CertificateApproval permits a target certificates for exactly these names.
type CertificateApproval struct {
	Target fleet.TargetID `json:"target"`
	Name   string         `json:"name"`
	Names  []string       `json:"names"`
	By     string         `json:"by"`
	At     int64          `json:"at"`
}

// CertificatePage has all certificates that have not expired, and all approvals of users.
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
