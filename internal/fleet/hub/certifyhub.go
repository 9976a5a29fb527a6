package hub

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// renewCheckInterval is the time between two checks of a hub's certificates. They are valid for a
// year and are renewed in their last third.
const renewCheckInterval = 6 * time.Hour

// renewRetryInterval is the first delay before a hub tries again to get an issuer for certificates
// of services. Each further delay is twice as long.
const renewRetryInterval = 5 * time.Second

// renewHubCertificates renews the certificates of this hub until ctx ends. It needs the private key
// of the fleet CA, in the directory of this hub or of another one. If it cannot renew, it warns.
func (h *Hub) renewHubCertificates(ctx context.Context) error {
	said := "" // the last failure to get an issuer for services, to warn only once
	for soon := renewRetryInterval; ; soon = min(2*soon, renewCheckInterval) {
		err := h.certifyHub(ctx)
		if services := h.renewServiceIssuer(ctx); services != nil && services.Error() != said {
			said = services.Error()
			err = errors.Join(err, services)
		}
		if err = errors.Join(err, h.signLists(ctx)); err != nil && ctx.Err() == nil {
			h.warn(err.Error())
		}
		wait := renewCheckInterval
		if h.services.RenewAt().IsZero() {
			wait = soon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// certifyHub renews the certificates of this hub if they are due. The keys stay, so earlier
// signatures remain valid.
func (h *Hub) certifyHub(ctx context.Context) error {
	at, err := h.keys.RenewAt()
	if err != nil || h.now().Before(at) {
		return err
	}
	own, err := h.keys.Certificate()
	if err != nil {
		return err
	}
	jobID, err := h.keys.Request()
	if err != nil {
		return err
	}
	certificates, err := h.authorized(jobID, h.set.Name, own)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the key of the fleet CA is not in %s. Copy it there until they are renewed", h.dir("authority"))
		if h.peers != nil {
			certificates, err = h.requestCertification(ctx, certifyPath, jobID)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot renew this hub's certificates, which end at %s: %w", own.NotAfter.UTC().Format(time.DateTime), err)
	}
	if err := h.keys.Install(certificates); err != nil {
		return err
	}
	return h.introduce(ctx)
}

// authorized issues certificates for a hub with the names and addresses of its present certificate
// and with the same key. If this hub does not have the key of the fleet CA, the error wraps
// fs.ErrNotExist.
func (h *Hub) authorized(jobID []byte, name string, had *x509.Certificate) ([]byte, error) {
	root, err := pki.OpenCA(h.conf.Files, h.dir("authority"))
	if err != nil {
		return nil, err
	}
	certificates, err := root.Certify(jobID, name, hostsOf(had), h.now())
	if err != nil {
		return nil, err
	}
	made, err := pki.ParseCertificates(certificates)
	if err != nil {
		return nil, err
	}
	was, err1 := pki.KeyDigest(had.PublicKey)
	is, err2 := pki.KeyDigest(made[1].PublicKey)
	if err := errors.Join(err1, err2); err != nil || was != is {
		return nil, errors.Join(err, errors.New("cannot certify the hub: the request has another key than its present certificate"))
	}
	return certificates, nil
}

// hostsOf returns the DNS names and IP addresses in a certificate.
func hostsOf(c *x509.Certificate) []string {
	hosts := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

// certifyPath is the route on which a hub renews the certificates of another hub.
const certifyPath = "/v1/hubs/vouch"

// maxCertifyBytes limits a request and its answer on certifyPath.
const maxCertifyBytes = 64 << 10

// requestCertification asks the hubs with the key of the fleet CA in turn, until one answers.
func (h *Hub) requestCertification(ctx context.Context, path string, jobID []byte) ([]byte, error) {
	trust, err := h.keys.Trust(h.revoked)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: askFor, Transport: &http.Transport{TLSClientConfig: trust.ClientTLS(h.keys.TLS, h.now, nil), DisableKeepAlives: true}}
	errs := []error{errors.New("no reachable hub has the key of the fleet CA")}
	for _, m := range h.members.values() {
		if m.Name == h.set.Name || !m.Authority {
			continue
		}
		for _, at := range m.HubURLs {
			certificates, err := requestCertificateOnce(ctx, &client, at+path, jobID)
			if err == nil {
				return certificates, nil
			}
			errs = append(errs, err)
		}
	}
	return nil, errors.Join(errs...)
}

func requestCertificateOnce(ctx context.Context, client *http.Client, at string, jobID []byte) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(jobID))
	if err != nil {
		return nil, err
	}
	p, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer p.Body.Close()
	text, err := io.ReadAll(io.LimitReader(p.Body, maxCertifyBytes))
	if err == nil && p.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %.200s", at, p.StatusCode, bytes.TrimSpace(text))
	}
	return text, err
}

// serveCertify renews the certificates of the hub that sends the request, with unchanged names.
func (h *Hub) serveCertify(w http.ResponseWriter, r *http.Request) {
	h.certifyFor(w, r, "the certificates of the hub %s are renewed", func(jobID []byte, p pki.Peer) ([]byte, error) {
		return h.authorized(jobID, p.Name.ID, p.Certificate)
	})
}

// certifyFor answers a request of a hub for certificates. The event has the text said, with the
// name of the hub for %s.
func (h *Hub) certifyFor(w http.ResponseWriter, r *http.Request, said string, vouch func(jobID []byte, p pki.Peer) ([]byte, error)) {
	p, err := h.hubOf(r)
	if err != nil {
		http.Error(w, "this is for hubs of this fleet", http.StatusForbidden)
		return
	}
	jobID, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCertifyBytes))
	if err != nil {
		http.Error(w, "cannot read the request", http.StatusBadRequest)
		return
	}
	certificates, err := vouch(jobID, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "this hub does not have the key of the fleet CA", http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		h.note(r.Context(), fleet.HubEvent{Kind: fleet.TargetEnrolled, By: "hub " + p.Name.ID, Text: fmt.Sprintf(said, p.Name.ID)})
		_, _ = w.Write(certificates)
	}
}

// hubOf returns the hub that sent a request. It returns an error for other clients.
func (h *Hub) hubOf(r *http.Request) (pki.Peer, error) {
	trust, err := h.keys.Trust(h.revoked)
	if err != nil {
		return pki.Peer{}, err
	}
	p, err := trust.PeerOf(r.TLS, h.now(), pki.HubKind)
	if err == nil && !h.isMember(p.Name.ID) {
		err = fmt.Errorf("the hub %s is not in this fleet", p.Name.ID)
	}
	return p, err
}
