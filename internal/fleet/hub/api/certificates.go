package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Certificates are the certificates of services.
type Certificates interface {
	// Certificates returns the certificates of services. The caller sets the format.
	Certificates(ctx context.Context) (document.CertificatePage, error)
	// RevokeCertificates returns the job that informs the agents, or a Refusal if no certificate
	// matches.
	RevokeCertificates(ctx context.Context, by access.Principal, r document.CertificateRevocation) (document.Job, error)
}

// HandleCertificates registers the handlers of certificates.
func HandleCertificates(t *Table, b Certificates) {
	handleGet(t, route.Certificates(), func(ctx context.Context) (document.CertificatePage, error) {
		p, err := b.Certificates(ctx)
		p.Format = document.CertificatePageFormat
		return p, err
	})
	handlePost(t, route.RevokeCertificates(),
		func(ctx context.Context, c Caller, r document.CertificateRevocation) (document.Job, error) {
			job, err := b.RevokeCertificates(ctx, c.Principal, r)
			return formedJob(job), err
		})
}
