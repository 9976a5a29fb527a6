package document

import "fettle.dev/fettle/internal/fleet"

// CertificatePageFormat is the format of CertificatePage.
const CertificatePageFormat = "fettle.fleet.certificates/1"

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
	// Forbidden is who said that nobody is to believe it any more.
	Forbidden string `json:"forbidden,omitempty"`
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

// CertificateForbidding says which certificates nobody is to believe any more: one by its serial,
// or those of a target, by identity or name, that have a name, or all of them.
type CertificateForbidding struct {
	Serial string `json:"serial,omitempty"`
	Target string `json:"target,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}
