package hub

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
	"fettle.dev/fettle/internal/fleet/pki"
)

// keptList is a signed list of revoked certificates. A hub signs its own list, and a hub with the
// key of the fleet CA signs a second one. Every hub serves all lists.
type keptList struct {
	List   string                   `json:"list"`             // PEM
	Issuer string                   `json:"issuer,omitempty"` // PEM of the signing certificate; "" for the fleet CA
	All    []pki.RevokedCertificate `json:"all"`
	Number int64                    `json:"number"`
	At     int64                    `json:"at"`    // seconds since 1970
	Until  int64                    `json:"until"` // seconds since 1970
}

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
func (h *Hub) revokedServices() []pki.RevokedCertificate {
	had, _, _ := h.crls.get(hubLists + h.set.Name)
	all := slices.Clone(had.All)
	for _, r := range h.revoked.All() {
		known := slices.ContainsFunc(all, func(f pki.RevokedCertificate) bool { return f.Serial == r.Serial })
		if r.Serial != "" && !known {
			all = append(all, pki.RevokedCertificate{Serial: r.Serial, At: r.At})
		}
	}
	all = slices.DeleteFunc(all, func(f pki.RevokedCertificate) bool { return f.Ended(h.now()) })
	slices.SortFunc(all, func(a, b pki.RevokedCertificate) int { return cmp.Compare(a.Serial, b.Serial) })
	return slices.Clip(all)
}

// signLists signs the lists for which this hub has a key, if they changed or are due.
func (h *Hub) signLists(ctx context.Context) error {
	own, err := h.services.Certificate()
	if errors.Is(err, pki.ErrNoCertificates) {
		return nil
	}
	if err != nil {
		return err
	}
	h.listing.Lock()
	defer h.listing.Unlock()
	l := keptList{All: h.revokedServices(), Issuer: string(pki.EncodeCertificates(own)), Until: h.now().Add(pki.ListLife).Unix()}
	err = h.signList(ctx, hubLists+h.set.Name, l, listEvery, h.services.List)
	root, opened := pki.OpenCA(h.conf.Files, h.dir("authority"))
	if errors.Is(opened, fs.ErrNotExist) {
		return err // another hub signs it, or the present list remains until the key is back
	}
	if opened != nil {
		return errors.Join(err, opened)
	}
	l = keptList{All: h.revokedServiceIssuers(), Until: h.now().Add(pki.AuthorityListLife).Unix()}
	signed := h.signList(ctx, authorityList, l, authorityListEvery, root.List)
	if errors.Is(signed, errors.ErrUnsupported) {
		signed = nil // the CA was created by a version without lists
	}
	return errors.Join(err, signed)
}

// revokedServiceIssuers returns the issuers of service certificates of revoked hubs.
func (h *Hub) revokedServiceIssuers() []pki.RevokedCertificate {
	all := []pki.RevokedCertificate{}
	for _, r := range h.revoked.All() {
		n, err := pki.ParseName(r.Name)
		if err != nil || n.Kind != pki.HubKind {
			continue
		}
		l, _, _ := h.crls.get(hubLists + n.ID)
		certs, err := pki.ParseCertificates([]byte(l.Issuer))
		if err == nil && len(certs) == 1 {
			all = append(all, pki.RevokedCertificate{Serial: pki.SerialOf(certs[0]), At: r.At})
		}
	}
	return all
}

func (h *Hub) signList(ctx context.Context, key string, l keptList, every time.Duration, sign func([]pki.RevokedCertificate, int64, time.Time) ([]byte, error)) error {
	had, rev, _ := h.crls.get(key)
	now := h.now()
	if slices.Equal(had.All, l.All) && had.Issuer == l.Issuer && now.Unix() >= had.At && now.Sub(time.Unix(had.At, 0)) < every {
		return nil
	}
	// A lost store has no number. The time is higher than any earlier number.
	l.Number, l.At = max(now.Unix(), had.Number+1), now.Unix()
	text, err := sign(l.All, l.Number, now)
	if err != nil {
		return err
	}
	l.List = string(text)
	if err := h.crls.put(ctx, key, l, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot store the list of revoked certificates: %w", err)
	}
	return nil
}

// onList offers open revocation jobs again: their agents may have failed because the list was
// missing.
func (h *Hub) onList(string, keptList, uint64, bool) {
	for _, r := range h.jobs.values() {
		if r.What == fleet.JobFetchRevocations {
			h.jobDispatcher.offer(h.ctx, r)
		}
	}
}

// onLists sends an agent all lists that have not expired.
func (h *Hub) onLists(ctx context.Context, from fleet.TargetID, _ []byte) ([]byte, error) {
	if _, err := h.active(ctx, from); err != nil {
		return nil, err
	}
	var out fleet.Lists
	for _, l := range h.crls.values() {
		if h.now().Unix() < l.Until {
			out.Lists += l.List
			out.Issuers += l.Issuer
		}
	}
	return json.Marshal(out)
}

// pruneLists removes expired lists of hubs that have left.
func (h *Hub) pruneLists(ctx context.Context) error {
	var errs []error
	h.crls.each(func(key string, l keptList, _ uint64) {
		if h.now().Unix() >= l.Until && strings.HasPrefix(key, hubLists) {
			errs = append(errs, h.crls.remove(ctx, key))
		}
	})
	return errors.Join(errs...)
}
