package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
)

// vouchEvery is how often a hub looks whether its certificates are to be renewed. They
// are good for a year, and are renewed in its last third.
const vouchEvery = 6 * time.Hour

// keepVouched renews this hub's certificates where the authority's key lies in its
// folder, and warns where it does not.
func (h *Hub) keepVouched(ctx context.Context) error {
	t := time.NewTicker(vouchEvery)
	defer t.Stop()
	for {
		if err := h.vouch(ctx); err != nil {
			h.warn(err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
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
	root, err := pki.OpenAuthority(h.conf.Files, h.dir("authority"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot renew this hub's certificates, which end at %s: the authority's key is not in %s. Bring it there until they are renewed",
			own.NotAfter.UTC().Format(time.DateTime), h.dir("authority"))
	}
	if err != nil {
		return err
	}
	request, err := h.keys.Request()
	if err != nil {
		return err
	}
	hosts := own.DNSNames
	for _, ip := range own.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	certificates, err := root.Vouch(request, h.set.Name, hosts, h.now())
	if err != nil {
		return err
	}
	if err := h.keys.Install(certificates); err != nil {
		return err
	}
	return h.introduce(ctx)
}
