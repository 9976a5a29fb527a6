package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// listsFile contains the revoked certificates, as X.509 CRLs in PEM: one of the fleet CA and one of
// each hub.
const listsFile = "crl.pem"

// Update fetches the revocation lists from a hub, and installs them where services read them. A
// certificate that was revoked stays revoked, even if the hub omits it.
func (k *Keeper) Update(ctx context.Context) (pki.Lists, error) {
	k.updating.Lock()
	defer k.updating.Unlock()
	had, err := k.lists()
	if err != nil {
		k.Warn(err.Error() + "; the agent fetches the revocation lists again")
	}
	answer, err := k.Lists(ctx)
	if err != nil {
		return had, err
	}
	got, err := pki.ParseLists([]byte(answer.Lists))
	if err != nil {
		return had, err
	}
	issuers, err := pki.ParseCertificates([]byte(answer.Issuers))
	if err != nil {
		return had, err
	}
	if err := pki.VerifyLists(got, issuers, k.Authorities()); err != nil {
		return had, err
	}
	next := had.Merge(got, k.Now())
	if string(next.Encode()) == string(had.Encode()) {
		return had, nil
	}
	k.adopt(ctx, next)
	if err := k.directories(k.Dir); err != nil {
		return had, err
	}
	if err := errors.Join(k.replace("authority.pem", pki.EncodeCertificates(k.Authorities()...)),
		k.replace(listsFile, next.Encode())); err != nil {
		return had, err
	}
	return next, k.markRevoked(next)
}

// adopt replaces certificates whose issuing hub is revoked, before the services of this host and of
// other hosts read the new revocation lists.
func (k *Keeper) adopt(ctx context.Context, l pki.Lists) {
	orders, err := k.Orders()
	for _, w := range orders {
		if w.Serial != "" && w.Issuer != "" && l.Has(w.Issuer, "") {
			_, failed := k.Get(ctx, w.Name)
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		k.Warn("cannot replace certificates whose issuing hub is revoked: " + err.Error())
	}
}

func (k *Keeper) lists() (pki.Lists, error) {
	text, err := smallfile.Read(k.Files, path.Join(k.Dir, listsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return pki.ParseLists(text)
}

// markRevoked marks the revoked certificates of this host.
func (k *Keeper) markRevoked(l pki.Lists) error {
	orders, err := k.Orders()
	for _, w := range orders {
		if is := w.Serial != "" && l.Has(w.Serial, ""); is != w.Revoked {
			w.Revoked = is
			err = errors.Join(err, k.save(w))
		}
	}
	return err
}

// FetchRevocations is Update, and checks that the lists contain some certificates. all names them
// as HUB/SERIAL, separated by spaces. The error names missing ones.
func (k *Keeper) FetchRevocations(ctx context.Context, all string) error {
	l, err := k.Update(ctx)
	if err != nil {
		return err
	}
	for word := range strings.FieldsSeq(all) {
		hub, serial, _ := strings.Cut(word, "/")
		if !l.Has(serial, hub) {
			return fmt.Errorf("the hub %s has not yet signed a revocation list with %s: %w", hub, serial, fleet.ErrNotFound)
		}
	}
	return nil
}
