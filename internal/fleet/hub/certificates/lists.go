package certificates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
)

// authorityList is the key of the list of the fleet CA. The keys of lists of hubs begin with
// hubLists.
const (
	authorityList = "authority"
	hubLists      = "hub/"
)

// A list is signed again when its entries change, and at this interval.
const (
	listEvery          = 24 * time.Hour
	authorityListEvery = 30 * 24 * time.Hour
)

// revokedServices returns the revoked serials that have not expired. It starts with the entries of
// the last list, because facts may have been lost or are not read yet.
func (i *Issuer) revokedServices() []pki.RevokedCertificate {
	had, _, _ := i.Records.RevocationLists.Get(hubLists + i.Hub)
	all := slices.Clone(had.All)
	for _, r := range i.Revoked.All() {
		known := slices.ContainsFunc(all, func(f pki.RevokedCertificate) bool { return f.Serial == r.Serial })
		if r.Serial != "" && !known {
			all = append(all, pki.RevokedCertificate{Serial: r.Serial, At: r.At})
		}
	}
	all = slices.DeleteFunc(all, func(f pki.RevokedCertificate) bool { return f.Ended(i.Now()) })
	slices.SortFunc(all, func(a, b pki.RevokedCertificate) int { return cmp.Compare(a.Serial, b.Serial) })
	return slices.Clip(all)
}

// SignLists signs the lists for which this hub has a key, if they changed or are due.
func (i *Issuer) SignLists(ctx context.Context) error {
	own, err := i.Services.Certificate()
	if errors.Is(err, pki.ErrNoCertificates) {
		return nil
	}
	if err != nil {
		return err
	}
	i.listMu.Lock()
	defer i.listMu.Unlock()
	l := records.RevocationList{All: i.revokedServices(), Issuer: string(pki.EncodeCertificates(own)),
		Until: i.Now().Add(pki.ListLife).Unix()}
	err = i.signList(ctx, hubLists+i.Hub, l, listEvery, i.Services.List)
	root, opened := pki.OpenCA(i.Files, i.dir("authority"))
	if errors.Is(opened, fs.ErrNotExist) {
		return err // another hub signs it, or the present list remains until the key is back
	}
	if opened != nil {
		return errors.Join(err, opened)
	}
	l = records.RevocationList{All: i.revokedServiceIssuers(), Until: i.Now().Add(pki.AuthorityListLife).Unix()}
	signed := i.signList(ctx, authorityList, l, authorityListEvery, root.List)
	if errors.Is(signed, errors.ErrUnsupported) {
		signed = nil // the CA was created by a version without lists
	}
	return errors.Join(err, signed)
}

// revokedServiceIssuers returns the issuers of service certificates of revoked hubs.
func (i *Issuer) revokedServiceIssuers() []pki.RevokedCertificate {
	all := []pki.RevokedCertificate{}
	for _, r := range i.Revoked.All() {
		n, err := pki.ParseName(r.Name)
		if err != nil || n.Kind != pki.HubKind {
			continue
		}
		l, _, _ := i.Records.RevocationLists.Get(hubLists + n.ID)
		certs, err := pki.ParseCertificates([]byte(l.Issuer))
		if err == nil && len(certs) == 1 {
			all = append(all, pki.RevokedCertificate{Serial: pki.SerialOf(certs[0]), At: r.At})
		}
	}
	return all
}

func (i *Issuer) signList(ctx context.Context, key string, l records.RevocationList, every time.Duration,
	sign func([]pki.RevokedCertificate, int64, time.Time) ([]byte, error)) error {
	had, rev, _ := i.Records.RevocationLists.Get(key)
	now := i.Now()
	if slices.Equal(had.All, l.All) && had.Issuer == l.Issuer && now.Unix() >= had.At &&
		now.Sub(time.Unix(had.At, 0)) < every {
		return nil
	}
	// A lost store has no number. The time is higher than any earlier number.
	l.Number, l.At = max(now.Unix(), had.Number+1), now.Unix()
	text, err := sign(l.All, l.Number, now)
	if err != nil {
		return err
	}
	l.List = string(text)
	if err := i.Records.RevocationLists.Put(ctx, key, l, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot store the list of revoked certificates: %w", err)
	}
	return nil
}

// OnList offers open revocation jobs again: their agents may have failed because the list was
// missing.
func (i *Issuer) OnList(string, records.RevocationList, uint64, bool) {
	for _, r := range i.Records.Jobs.Values() {
		if r.What == fleet.JobFetchRevocations {
			i.Jobs.Offer(i.Context(), r)
		}
	}
}

// OnLists sends an agent all lists that have not expired.
func (i *Issuer) OnLists(ctx context.Context, from fleet.TargetID, _ []byte) ([]byte, error) {
	if _, err := i.Active(ctx, from); err != nil {
		return nil, err
	}
	var out fleet.Lists
	for _, l := range i.Records.RevocationLists.Values() {
		if i.Now().Unix() < l.Until {
			out.Lists += l.List
			out.Issuers += l.Issuer
		}
	}
	return json.Marshal(out)
}

// PruneLists removes expired lists of hubs that have left.
func (i *Issuer) PruneLists(ctx context.Context) error {
	var errs []error
	i.Records.RevocationLists.Each(func(key string, l records.RevocationList, _ uint64) {
		if i.Now().Unix() >= l.Until && strings.HasPrefix(key, hubLists) {
			errs = append(errs, i.Records.RevocationLists.Remove(ctx, key))
		}
	})
	return errors.Join(errs...)
}
