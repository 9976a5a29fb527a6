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

// vouchEvery is how often a hub looks whether its certificates are to be renewed. They
// are good for a year, and are renewed in its last third.
const vouchEvery = 6 * time.Hour

// vouchSoon is when a hub that cannot make certificates of services yet looks again; each time
// it is twice as long.
const vouchSoon = 5 * time.Second

// keepVouched renews this hub's certificates where the authority's key lies in its
// folder or in that of another hub, and warns where it does not.
func (h *Hub) keepVouched(ctx context.Context) error {
	said := "" // what keeps it from making certificates of services: that is told once
	for soon := vouchSoon; ; soon = min(2*soon, vouchEvery) {
		err := h.vouch(ctx)
		if services := h.vouchServices(ctx); services != nil && services.Error() != said {
			said = services.Error()
			err = errors.Join(err, services)
		}
		if err = errors.Join(err, h.signLists(ctx)); err != nil && ctx.Err() == nil {
			h.warn(err.Error())
		}
		wait := vouchEvery
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

// vouch renews the certificates of this hub if it is time. Its keys stay, so what it has
// signed is believed as before.
func (h *Hub) vouch(ctx context.Context) error {
	at, err := h.keys.RenewAt()
	if err != nil || h.now().Before(at) {
		return err
	}
	own, err := h.keys.Certificate()
	if err != nil {
		return err
	}
	request, err := h.keys.Request()
	if err != nil {
		return err
	}
	certificates, err := h.authorized(request, h.set.Name, own)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the authority's key is not in %s. Bring it there until they are renewed", h.dir("authority"))
		if h.circle != nil {
			certificates, err = h.askToVouch(ctx, vouchPath, request)
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

// authorized makes certificates for a hub with the names and addresses that it has. Its keys
// stay. fs.ErrNotExist is in the chain of the error of a hub without the authority's key.
func (h *Hub) authorized(request []byte, name string, had *x509.Certificate) ([]byte, error) {
	root, err := pki.OpenAuthority(h.conf.Files, h.dir("authority"))
	if err != nil {
		return nil, err
	}
	certificates, err := root.Vouch(request, name, hostsOf(had), h.now())
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
		return nil, errors.Join(err, errors.New("cannot vouch for another key of a hub"))
	}
	return certificates, nil
}

// hostsOf are the names and addresses of a hub.
func hostsOf(c *x509.Certificate) []string {
	hosts := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

// vouchPath is where a hub asks another one to renew its certificates.
const vouchPath = "/v1/hubs/vouch"

// maxVouch bounds what is asked and answered there, in bytes.
const maxVouch = 64 << 10

// askToVouch asks the hubs that have the authority's key.
func (h *Hub) askToVouch(ctx context.Context, path string, request []byte) ([]byte, error) {
	trust, err := h.keys.Trust(h.revoked)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: askFor, Transport: &http.Transport{TLSClientConfig: trust.ClientTLS(h.keys.TLS, h.now, nil), DisableKeepAlives: true}}
	errs := []error{errors.New("no hub that has the authority's key could be asked")}
	for _, m := range h.members.values() {
		if m.Name == h.set.Name || !m.Authority {
			continue
		}
		for _, at := range m.Hubs {
			certificates, err := vouchOnce(ctx, &client, at+path, request)
			if err == nil {
				return certificates, nil
			}
			errs = append(errs, err)
		}
	}
	return nil, errors.Join(errs...)
}

func vouchOnce(ctx context.Context, client *http.Client, at string, request []byte) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	p, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer p.Body.Close()
	text, err := io.ReadAll(io.LimitReader(p.Body, maxVouch))
	if err == nil && p.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %.200s", at, p.StatusCode, bytes.TrimSpace(text))
	}
	return text, err
}

// serveVouch renews the certificates of the hub that asks: it gets what it has, for longer.
func (h *Hub) serveVouch(w http.ResponseWriter, r *http.Request) {
	h.vouchFor(w, r, "the certificates of the hub %s are renewed", func(request []byte, p pki.Peer) ([]byte, error) {
		return h.authorized(request, p.Name.ID, p.Certificate)
	})
}

// vouchFor answers a hub that asks for certificates. It is told of in the words of said.
func (h *Hub) vouchFor(w http.ResponseWriter, r *http.Request, said string, vouch func(request []byte, p pki.Peer) ([]byte, error)) {
	p, err := h.hubOf(r)
	if err != nil {
		http.Error(w, "this is for hubs of this fleet", http.StatusForbidden)
		return
	}
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxVouch))
	if err != nil {
		http.Error(w, "cannot read the request", http.StatusBadRequest)
		return
	}
	certificates, err := vouch(request, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "this hub has not got the authority's key", http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		h.note(r.Context(), fleet.HubEvent{Kind: fleet.Joined, By: "hub " + p.Name.ID, Text: fmt.Sprintf(said, p.Name.ID)})
		_, _ = w.Write(certificates)
	}
}

// hubOf is the hub of this fleet that asks.
func (h *Hub) hubOf(r *http.Request) (pki.Peer, error) {
	trust, err := h.keys.Trust(h.revoked)
	if err != nil {
		return pki.Peer{}, err
	}
	p, err := trust.PeerOf(r.TLS, h.now(), pki.HubKind)
	if err == nil && !h.isMember(p.Name.ID) {
		err = fmt.Errorf("the hub %s is not one of this fleet", p.Name.ID)
	}
	return p, err
}
