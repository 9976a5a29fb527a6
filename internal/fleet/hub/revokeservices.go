package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// barredName is a name in a revoked certificate of a target. A new certificate with this name needs
// the approval of a user, even if the policy allows it.
type barredName struct {
	Name   string `json:"name"`
	By     string `json:"by"`
	At     int64  `json:"at"` // seconds since 1970
	Reason string `json:"reason,omitempty"`
}

// maxBarred limits the barred names of one target.
const maxBarred = 256

// barred returns why a certificate with these names needs approval, or "".
func (s targetCertificates) barred(names []string) string {
	for _, b := range s.Barred {
		if slices.Contains(names, b.Name) {
			return fmt.Sprintf("a certificate of %s was revoked by %s: %s", b.Name, b.By, b.Reason)
		}
	}
	return ""
}

// RevokeCertificates revokes service certificates: one by serial, all of a target, or all
// of a target with a name. It returns the job that sends the revocation lists to agents.
func (h *Hub) RevokeCertificates(ctx context.Context, by access.Principal, r document.CertificateRevocation) (document.Job, error) {
	if (r.Serial == "") == (r.Target == "") || r.Serial != "" && r.Name != "" {
		return document.Job{}, &api.Refusal{Status: http.StatusBadRequest, Why: "cannot revoke certificates: give either a serial, or a target with an optional name",
			Hint: "See: fettle cert revoke --help"}
	}
	means := func(s targetCertificates, c issuedToTarget) bool {
		t, _, _ := h.targets.get(string(s.Target))
		ofTarget := r.Target == string(s.Target) || r.Target == t.Name && t.Name != ""
		return c.Serial == r.Serial || ofTarget && (r.Name == "" || slices.Contains(c.Names, r.Name))
	}
	done, err := h.revokeServices(ctx, by, r.Reason, means)
	if err == nil && done.ID == "" {
		return done, &api.Refusal{Status: http.StatusNotFound, Why: "cannot find a valid certificate to revoke: no match, or all matches have expired or are revoked",
			Hint: "List the certificates: fettle cert list"}
	}
	return done, err
}

// revokeServices signs revocations of certificates, marks them, and creates the job that makes all
// agents fetch the lists. Revocations come first: a hub that finds no mark repeats all steps.
func (h *Hub) revokeServices(ctx context.Context, by access.Principal, reason string,
	means func(targetCertificates, issuedToTarget) bool) (document.Job, error) {
	var marked []issuedToTarget
	for _, s := range h.targetCertificates.values() {
		for _, c := range s.current(h.now()).Issued {
			if c.RevokedBy != "" || !means(s, c) {
				continue
			}
			if err := h.registrar.Revoke(ctx, pki.Revocation{Serial: c.Serial, By: by.Name, Reason: reason}); err != nil {
				return document.Job{}, err
			}
		}
		news, err := h.markRevoked(ctx, by, s, reason, means)
		if err != nil {
			return document.Job{}, err
		}
		marked = append(marked, news...)
	}
	if len(marked) == 0 {
		return document.Job{}, nil
	}
	if err := h.signLists(ctx); err != nil {
		return document.Job{}, err
	}
	return h.createRevocationJob(ctx, by, marked)
}

// markRevoked marks revoked certificates of a target, withdraws approvals of their names, and bars the
// names. It returns the certificates that were not marked before.
func (h *Hub) markRevoked(ctx context.Context, by access.Principal, s targetCertificates, reason string,
	means func(targetCertificates, issuedToTarget) bool) (news []issuedToTarget, err error) {
	if !slices.ContainsFunc(s.Issued, func(c issuedToTarget) bool { return c.RevokedBy == "" && means(s, c) }) {
		return nil, nil
	}
	_, err = h.targetCertificates.change(ctx, string(s.Target), func(s *targetCertificates) error {
		news = nil
		*s = s.current(h.now())
		for i, c := range s.Issued {
			if c.RevokedBy != "" || !means(*s, c) {
				continue
			}
			s.Issued[i].RevokedBy = by.Name
			news = append(news, s.Issued[i])
			s.bar(c.Names, by.Name, reason, h.now())
		}
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return nil, nil
	}
	for _, c := range news {
		h.note(ctx, fleet.HubEvent{Kind: fleet.TargetRevoked, Target: s.Target, By: by.Name,
			Text: fmt.Sprintf("the certificate of %v, serial %s: %s", c.Names, c.Serial, reason)})
	}
	return news, err
}

func (s *targetCertificates) bar(names []string, by, reason string, now time.Time) {
	s.Approved = slices.DeleteFunc(slices.Clone(s.Approved), func(a approvedNames) bool {
		return slices.ContainsFunc(a.Names, func(n string) bool { return slices.Contains(names, n) })
	})
	for _, n := range names {
		s.unbar([]string{n})
		s.Barred = append(s.Barred, barredName{Name: n, By: by, At: now.Unix(), Reason: reason})
	}
	s.Barred = s.Barred[max(0, len(s.Barred)-maxBarred):]
}

func (s *targetCertificates) unbar(names []string) {
	s.Barred = slices.DeleteFunc(slices.Clone(s.Barred), func(b barredName) bool { return slices.Contains(names, b.Name) })
}

// createRevocationJob creates the job that makes all agents fetch the lists, also offline agents.
func (h *Hub) createRevocationJob(ctx context.Context, by access.Principal, all []issuedToTarget) (document.Job, error) {
	var words []string
	for _, c := range all {
		words = append(words, c.Hub+"/"+c.Serial)
	}
	slices.Sort(words)
	var ids []fleet.TargetID
	for _, t := range h.targets.values() {
		if t.Standing == fleet.Active {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return document.Job{ID: "-"}, nil
	}
	return h.CreateJob(ctx, by, document.JobRequest{What: fleet.JobFetchRevocations, Arg: strings.Join(words, " "), Expires: int64(pki.ListLife)}, ids)
}

// revokeServicesOf revokes the certificates of a target that left the fleet.
func (h *Hub) revokeServicesOf(id fleet.TargetID, t fleet.Target) {
	if s, _, there := h.targetCertificates.get(string(id)); !there || !slices.ContainsFunc(s.Issued, func(c issuedToTarget) bool { return c.RevokedBy == "" }) {
		return
	}
	ctx, stop := context.WithTimeout(h.ctx, askFor)
	defer stop()
	_, err := h.revokeServices(ctx, access.NewPrincipal(t.By, ""), "the target is "+string(t.Standing),
		func(s targetCertificates, _ issuedToTarget) bool { return s.Target == id })
	if err != nil && h.ctx.Err() == nil {
		h.warn("cannot revoke the certificates of a target that is " + string(t.Standing) + ": " + err.Error())
	}
}
