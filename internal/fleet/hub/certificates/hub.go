package certificates

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

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/pki"
)

// authorized issues certificates for a hub with the names and addresses of its present certificate
// and with the same key. If this hub does not have the key of the fleet CA, the error wraps
// fs.ErrNotExist.
func (i *Issuer) authorized(jobID []byte, name string, had *x509.Certificate) ([]byte, error) {
	root, err := pki.OpenCA(i.Files, i.dir("authority"))
	if err != nil {
		return nil, err
	}
	certificates, err := root.Certify(jobID, name, hostsOf(had), i.Now())
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
		return nil, errors.Join(err,
			errors.New("cannot certify the hub: the request has another key than its present certificate"))
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

// CertifyPath is the route on which a hub renews the certificates of another hub.
const CertifyPath = "/v1/hubs/vouch"

// maxCertifyBytes limits a request and its answer on certifyPath.
const maxCertifyBytes = 64 << 10

// requestCertification asks the hubs with the key of the fleet CA in turn, until one answers.
func (i *Issuer) requestCertification(ctx context.Context, path string, jobID []byte) ([]byte, error) {
	trust, err := i.Keys.Trust(i.Revoked)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: limits.AgentTimeout,
		Transport: &http.Transport{TLSClientConfig: trust.ClientTLS(i.Keys.TLS, i.Now, nil), DisableKeepAlives: true}}
	errs := []error{errors.New("no reachable hub has the key of the fleet CA")}
	for _, m := range i.Records.Members.Values() {
		if m.Name == i.Hub || !m.Authority {
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

// ServeCertify renews the certificates of the hub that sends the request, with unchanged names.
func (i *Issuer) ServeCertify(w http.ResponseWriter, r *http.Request) {
	i.certifyFor(w, r, "the certificates of the hub %s are renewed", func(jobID []byte, p pki.Peer) ([]byte, error) {
		return i.authorized(jobID, p.Name.ID, p.Certificate)
	})
}

// certifyFor answers a request of a hub for certificates. The event has the text said, with the
// name of the hub for %s.
func (i *Issuer) certifyFor(w http.ResponseWriter, r *http.Request, said string,
	vouch func(jobID []byte, p pki.Peer) ([]byte, error)) {
	p, err := i.hubOf(r)
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
		i.Events.Note(r.Context(), fleet.HubEvent{Kind: fleet.TargetEnrolled, By: "hub " + p.Name.ID,
			Text: fmt.Sprintf(said, p.Name.ID)})
		_, _ = w.Write(certificates)
	}
}

// hubOf returns the hub that sent a request. It returns an error for other clients.
func (i *Issuer) hubOf(r *http.Request) (pki.Peer, error) {
	trust, err := i.Keys.Trust(i.Revoked)
	if err != nil {
		return pki.Peer{}, err
	}
	p, err := trust.PeerOf(r.TLS, i.Now(), pki.HubKind)
	if err == nil && !i.IsMember(p.Name.ID) {
		err = fmt.Errorf("the hub %s is not in this fleet", p.Name.ID)
	}
	return p, err
}
