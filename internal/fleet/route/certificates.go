package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofCertificates() []Row { return []Row{Certificates().Row, RevokeCertificates().Row} }

// Certificates returns the certificates of services.
func Certificates() (r Route[None, None, document.CertificatePage]) {
	return r.get(access.Read, "/v1/certificates", "List valid certificates of services, and approved requests")
}

// RevokeCertificates revokes certificates of services.
func RevokeCertificates() (r Route[None, document.CertificateRevocation, document.Job]) {
	return r.post(access.Approve, "/v1/certificates/revoke",
		"Revoke certificates of services; the answer is the job that informs the agents")
}
