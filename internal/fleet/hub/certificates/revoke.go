package certificates

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// HandleRoutes registers the handlers of certificates.
func (i *Issuer) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.Certificates(), i.Certificates)
	api.HandlePost(t, route.RevokeCertificates(), i.RevokeCertificates)
}

// RevokeCertificates revokes service certificates: one by serial, all of a target, or all
// of a target with a name. It returns the job that sends the revocation lists to agents.
func (i *Issuer) RevokeCertificates(ctx context.Context, by api.Caller,
	r document.CertificateRevocation) (document.Job, error) {
	if (r.Serial == "") == (r.Target == "") || r.Serial != "" && r.Name != "" {
		return document.Job{}, &api.Refusal{Status: http.StatusBadRequest,
			Why:  "cannot revoke certificates: give either a serial, or a target with an optional name",
			Hint: "See: fettle cert revoke --help"}
	}
	means := func(s records.TargetCertificates, c records.IssuedCertificate) bool {
		t, _, _ := i.Records.Targets.Get(string(s.Target))
		ofTarget := r.Target == string(s.Target) || r.Target == t.Name && t.Name != ""
		return c.Serial == r.Serial || ofTarget && (r.Name == "" || slices.Contains(c.Names, r.Name))
	}
	done, err := i.revokeServices(ctx, by.Principal, r.Reason, means)
	if err == nil && done.ID == "" {
		return done, &api.Refusal{Status: http.StatusNotFound,
			Why:  "cannot find a valid certificate to revoke: no match, or all matches have expired or are revoked",
			Hint: "List the certificates: fettle cert list"}
	}
	return done, err
}

// revokeServices signs revocations of certificates, marks them, and creates the job that makes all
// agents fetch the lists. Revocations come first: a hub that finds no mark repeats all steps.
func (i *Issuer) revokeServices(ctx context.Context, by access.Principal, reason string,
	means func(records.TargetCertificates, records.IssuedCertificate) bool) (document.Job, error) {
	var marked []records.IssuedCertificate
	for _, s := range i.Records.TargetCertificates.Values() {
		for _, c := range s.Current(i.Now()).Issued {
			if c.RevokedBy != "" || !means(s, c) {
				continue
			}
			if err := i.Registrar.Revoke(ctx, pki.Revocation{Serial: c.Serial, By: by.Name, Reason: reason}); err != nil {
				return document.Job{}, err
			}
		}
		news, err := i.markRevoked(ctx, by, s, reason, means)
		if err != nil {
			return document.Job{}, err
		}
		marked = append(marked, news...)
	}
	if len(marked) == 0 {
		return document.Job{}, nil
	}
	if err := i.SignLists(ctx); err != nil {
		return document.Job{}, err
	}
	return i.createRevocationJob(ctx, by, marked)
}

// markRevoked marks revoked certificates of a target, withdraws approvals of their names, and bars the
// names. It returns the certificates that were not marked before.
func (i *Issuer) markRevoked(ctx context.Context, by access.Principal, s records.TargetCertificates, reason string,
	means func(records.TargetCertificates, records.IssuedCertificate) bool) (news []records.IssuedCertificate, err error) {
	if !slices.ContainsFunc(s.Issued, func(c records.IssuedCertificate) bool { return c.RevokedBy == "" && means(s, c) }) {
		return nil, nil
	}
	_, err = i.Records.TargetCertificates.Change(ctx, string(s.Target), func(s *records.TargetCertificates) error {
		news = nil
		*s = s.Current(i.Now())
		for at, c := range s.Issued {
			if c.RevokedBy != "" || !means(*s, c) {
				continue
			}
			s.Issued[at].RevokedBy = by.Name
			news = append(news, s.Issued[at])
			s.Bar(c.Names, by.Name, reason, i.Now())
		}
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return nil, nil
	}
	for _, c := range news {
		i.Events.Note(ctx, fleet.HubEvent{Kind: fleet.TargetRevoked, Target: s.Target, By: by.Name,
			Text: fmt.Sprintf("the certificate of %v, serial %s: %s", c.Names, c.Serial, reason)})
	}
	return news, err
}

// createRevocationJob creates the job that makes all agents fetch the lists, also offline agents.
func (i *Issuer) createRevocationJob(ctx context.Context, by access.Principal,
	all []records.IssuedCertificate) (document.Job, error) {
	var words []string
	for _, c := range all {
		words = append(words, c.Hub+"/"+c.Serial)
	}
	slices.Sort(words)
	var ids []fleet.TargetID
	for _, t := range i.Records.Targets.Values() {
		if t.Standing == fleet.Active {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return document.Job{ID: "-"}, nil
	}
	return i.Jobs.CreateJob(ctx, by, document.JobRequest{What: fleet.JobFetchRevocations,
		Arg: strings.Join(words, " "), Expires: int64(pki.ListLife)}, ids)
}

// RevokeOf revokes the certificates of a target that left the fleet.
func (i *Issuer) RevokeOf(id fleet.TargetID, t fleet.Target) {
	if s, _, there := i.Records.TargetCertificates.Get(string(id)); !there ||
		!slices.ContainsFunc(s.Issued, func(c records.IssuedCertificate) bool { return c.RevokedBy == "" }) {
		return
	}
	ctx, stop := context.WithTimeout(i.Context(), limits.AgentTimeout)
	defer stop()
	_, err := i.revokeServices(ctx, access.NewPrincipal(t.By, ""), "the target is "+string(t.Standing),
		func(s records.TargetCertificates, _ records.IssuedCertificate) bool { return s.Target == id })
	if err != nil && i.Context().Err() == nil {
		i.Warn("cannot revoke the certificates of a target that is " + string(t.Standing) + ": " + err.Error())
	}
}
