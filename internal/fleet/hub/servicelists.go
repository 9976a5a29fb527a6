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

// keptList is a list of forbidden certificates that a hub signed, or one with the authority's
// key. Every hub gives all of them.
type keptList struct {
	List   string                   `json:"list"`             // PEM
	Issuer string                   `json:"issuer,omitempty"` // PEM of who signed it, but for the authority
	All    []pki.RevokedCertificate `json:"all"`
	Number int64                    `json:"number"`
	At     int64                    `json:"at"`    // seconds since 1970
	Until  int64                    `json:"until"` // seconds since 1970
}

// authorityList is the key of that of the authority; hubs have theirs below hubLists.
const (
	authorityList = "authority"
	hubLists      = "hub/"
)

// A list is signed anew when it has other entries, and after some time.
const (
	listEvery          = 24 * time.Hour
	authorityListEvery = 30 * 24 * time.Hour
)

// revokedServices returns the revoked serials, of certificates that may not have expired:
// those of the list before, since facts may have been lost or are not read yet, and what is new.
func (h *Hub) revokedServices() []pki.RevokedCertificate {
	had, _, _ := h.crls.get(hubLists + h.set.Name)
	all := slices.Clone(had.All)
	for _, r := range h.revoked.Facts() {
		known := slices.ContainsFunc(all, func(f pki.RevokedCertificate) bool { return f.Serial == r.Serial })
		if r.Serial != "" && !known {
			all = append(all, pki.RevokedCertificate{Serial: r.Serial, At: r.At})
		}
	}
	all = slices.DeleteFunc(all, func(f pki.RevokedCertificate) bool { return f.Ended(h.now()) })
	slices.SortFunc(all, func(a, b pki.RevokedCertificate) int { return cmp.Compare(a.Serial, b.Serial) })
	return slices.Clip(all)
}

// signLists signs what this hub can sign, where it is time or something is new.
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
		return err // another hub signs it, or it lasts until the key is brought
	}
	if opened != nil {
		return errors.Join(err, opened)
	}
	l = keptList{All: h.revokedServiceIssuers(), Until: h.now().Add(pki.AuthorityListLife).Unix()}
	signed := h.signList(ctx, authorityList, l, authorityListEvery, root.List)
	if errors.Is(signed, errors.ErrUnsupported) {
		signed = nil // made before there were lists
	}
	return errors.Join(err, signed)
}

// revokedServiceIssuers returns the issuers of service certificates of revoked hubs.
func (h *Hub) revokedServiceIssuers() []pki.RevokedCertificate {
	all := []pki.RevokedCertificate{}
	for _, r := range h.revoked.Facts() {
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
	// A store that was lost knows no number; the time is higher than any that was given.
	l.Number, l.At = max(now.Unix(), had.Number+1), now.Unix()
	text, err := sign(l.All, l.Number, now)
	if err != nil {
		return err
	}
	l.List = string(text)
	if err := h.crls.put(ctx, key, l, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot keep the list of forbidden certificates: %w", err)
	}
	return nil
}

// onList has agents asked again for what they could not do before there was this list.
func (h *Hub) onList(string, keptList, uint64, bool) {
	for _, r := range h.jobs.values() {
		if r.What == fleet.JobFetchRevocations {
			h.jobDispatcher.offer(h.ctx, r)
		}
	}
}

// onLists gives an agent all lists.
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

// pruneLists forgets those of hubs that have gone.
func (h *Hub) pruneLists(ctx context.Context) error {
	var errs []error
	h.crls.each(func(key string, l keptList, _ uint64) {
		if h.now().Unix() >= l.Until && strings.HasPrefix(key, hubLists) {
			errs = append(errs, h.crls.remove(ctx, key))
		}
	})
	return errors.Join(errs...)
}
