package certificates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/pki"
)

// CertifyServicesPath is the route on which a hub certifies the service issuer of another hub.
const CertifyServicesPath = "/v1/hubs/vouch-services"

// renewServiceIssuer renews the certificate of the issuer, with which this hub signs certificates
// of services, if it is missing or due. The fleet CA signs it.
func (i *Issuer) renewServiceIssuer(ctx context.Context) error {
	if at := i.Services.RenewAt(); !at.IsZero() && i.Now().Before(at) {
		return nil
	}
	own, err := i.Keys.Certificate()
	if err != nil {
		return err
	}
	jobID, err := i.Services.Request()
	if err != nil {
		return err
	}
	certificates, err := i.authorizedServices(jobID, i.Hub, hostsOf(own))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the key of the fleet CA is not in %s. Copy it there until the hub has used it", i.dir("authority"))
		if !i.Alone {
			certificates, err = i.requestCertification(ctx, CertifyServicesPath, jobID)
		}
	}
	if err == nil {
		err = i.Services.Install(certificates)
	}
	if err != nil {
		return fmt.Errorf("this hub cannot issue certificates of services: %w", err)
	}
	return nil
}

func (i *Issuer) authorizedServices(jobID []byte, name string, hosts []string) ([]byte, error) {
	root, err := pki.OpenCA(i.Files, i.dir("authority"))
	if err != nil {
		return nil, err
	}
	return root.CertifyServices(jobID, name, hosts, i.Now())
}

// ServeCertifyServices certifies the service issuer of the hub that sends the request.
func (i *Issuer) ServeCertifyServices(w http.ResponseWriter, r *http.Request) {
	i.certifyFor(w, r, "the hub %s may issue certificates of services", func(jobID []byte, p pki.Peer) ([]byte, error) {
		return i.authorizedServices(jobID, p.Name.ID, hostsOf(p.Certificate))
	})
}

// ofHubs reports whether a name or address belongs to a hub, or is below the name of a hub.
func (i *Issuer) ofHubs(name string) bool {
	urls := i.URLs
	for _, m := range append(i.Records.Members.Values(), i.Records.Lost.Values()...) {
		urls = slices.Concat(urls, m.HubURLs, m.BusURLs)
	}
	return slices.ContainsFunc(urls, func(text string) bool {
		u, err := url.Parse(text)
		if err != nil {
			return false
		}
		own := strings.ToLower(u.Hostname())
		return name == own || own != "" && strings.HasSuffix(name, "."+own)
	})
}
