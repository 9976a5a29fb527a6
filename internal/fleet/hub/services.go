package hub

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

// certifyServicesPath is the route on which a hub certifies the service issuer of another hub.
const certifyServicesPath = "/v1/hubs/vouch-services"

// renewServiceIssuer renews the certificate of the issuer, with which this hub signs certificates
// of services, if it is missing or due. The fleet CA signs it.
func (h *Hub) renewServiceIssuer(ctx context.Context) error {
	if at := h.services.RenewAt(); !at.IsZero() && h.now().Before(at) {
		return nil
	}
	own, err := h.keys.Certificate()
	if err != nil {
		return err
	}
	jobID, err := h.services.Request()
	if err != nil {
		return err
	}
	certificates, err := h.authorizedServices(jobID, h.set.Name, hostsOf(own))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the key of the fleet CA is not in %s. Copy it there until the hub has used it", h.dir("authority"))
		if h.peers != nil {
			certificates, err = h.requestCertification(ctx, certifyServicesPath, jobID)
		}
	}
	if err == nil {
		err = h.services.Install(certificates)
	}
	if err != nil {
		return fmt.Errorf("this hub cannot issue certificates of services: %w", err)
	}
	return nil
}

func (h *Hub) authorizedServices(jobID []byte, name string, hosts []string) ([]byte, error) {
	root, err := pki.OpenCA(h.conf.Files, h.dir("authority"))
	if err != nil {
		return nil, err
	}
	return root.CertifyServices(jobID, name, hosts, h.now())
}

// serveCertifyServices certifies the service issuer of the hub that sends the request.
func (h *Hub) serveCertifyServices(w http.ResponseWriter, r *http.Request) {
	h.certifyFor(w, r, "the hub %s may issue certificates of services", func(jobID []byte, p pki.Peer) ([]byte, error) {
		return h.authorizedServices(jobID, p.Name.ID, hostsOf(p.Certificate))
	})
}

// ofHubs reports whether a name or address belongs to a hub, or is below the name of a hub.
func (h *Hub) ofHubs(name string) bool {
	urls := slices.Concat(h.set.HubURLs, h.set.BusURLs)
	for _, m := range append(h.members.values(), h.lost.values()...) {
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
