// Package organizations answers requests of users about organizations: their limits, freezes, and approvals of
// rollouts.
//
//	s := organizations.Service{Records: table, Freezes: registry, Rollouts: service, …}
//	s.HandleRoutes(table)
//
// An organization has no record of its own. It exists as long as a target, a user, a token, a limit or a freeze has it,
// or has an organization below it.
package organizations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/route"
)

// Freezes are the freezes of organizations.
type Freezes interface {
	FreezeOrganization(ctx context.Context, by access.Principal, of fleet.Organization, r document.FreezeRequest) error
	UnfreezeOrganization(ctx context.Context, by access.Principal, of fleet.Organization) error
	// OrganizationFreezes returns the freezes in force.
	OrganizationFreezes(ctx context.Context) map[fleet.Organization]document.FleetFreeze
}

// Rollouts are the rollouts of the fleet.
type Rollouts interface {
	// Waiting returns the open rollouts, oldest first, each with the members that do not have the change yet.
	Waiting() []rollout.Waiting
	OrderRollout(ctx context.Context, c rollout.Command) error
}

// Service answers requests of users about organizations.
type Service struct {
	Records  *records.Table
	Freezes  Freezes
	Rollouts Rollouts
}

// HandleRoutes registers the handlers.
func (s Service) HandleRoutes(t *api.Table) {
	api.Handle(t, route.Organizations(), s.list)
	api.Handle(t, route.Organization(), s.show)
	api.Handle(t, route.FreezeOrganization(), s.freeze)
	api.Handle(t, route.UnfreezeOrganization(), s.unfreeze)
	api.Handle(t, route.ApproveOrganization(), s.approve)
	api.Handle(t, route.RejectOrganization(), s.reject)
}

// list returns the organizations within the organization of the user.
func (s Service) list(ctx context.Context, c api.Caller, _, _ route.None) (document.OrganizationPage, error) {
	out := document.OrganizationPage{Format: document.OrganizationPageFormat, Organizations: []document.Organization{}}
	all, err := s.all(ctx)
	if err != nil {
		return out, err
	}
	for _, o := range slices.Sorted(maps.Keys(all)) {
		if c.Organization.Contains(o) {
			out.Organizations = append(out.Organizations, *all[o])
		}
	}
	return out, nil
}

// all returns all organizations of the fleet.
func (s Service) all(ctx context.Context) (map[fleet.Organization]*document.Organization, error) {
	all := map[fleet.Organization]*document.Organization{}
	each := func(o fleet.Organization, count func(*document.Organization)) {
		for _, path := range o.Path() {
			if all[path] == nil {
				all[path] = &document.Organization{Organization: path}
			}
			count(all[path])
		}
	}
	nothing := func(*document.Organization) {}
	for _, t := range s.Records.Targets.Values() {
		each(t.Organization, func(d *document.Organization) {
			if t.Standing == fleet.Active {
				d.Targets++
			}
		})
	}
	if err := s.accounts(ctx, each); err != nil {
		return nil, err
	}
	for _, l := range s.limits() {
		each(l.Organization, nothing)
		d := all[l.Organization]
		d.DeclaredFreeze, d.Approvals = l.Freeze, l.Approvals
		if l.MaxUnavailable.Number > 0 {
			d.MaxUnavailable = l.MaxUnavailable.String()
		}
	}
	for o, f := range s.Freezes.OrganizationFreezes(ctx) {
		each(o, nothing)
		all[o].Freeze = &f
	}
	return all, nil
}

// accounts counts users, and finds the organizations of tokens.
func (s Service) accounts(ctx context.Context, each func(fleet.Organization, func(*document.Organization))) error {
	users, err := s.Records.Users.Entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range users {
		var u access.User
		if !strings.HasPrefix(e.Key, "user/") {
			continue
		}
		if err := json.Unmarshal(e.Value, &u); err != nil {
			return fmt.Errorf("cannot read the user in %s: %w", e.Key, err)
		}
		each(u.Organization, func(d *document.Organization) { d.Users++ })
	}
	tokens, err := s.Records.Tokens.Entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range tokens {
		var t pki.StoredToken
		if err := json.Unmarshal(e.Value, &t); err != nil {
			return fmt.Errorf("cannot read the token in %s: %w", e.Key, err)
		}
		each(t.Organization, func(*document.Organization) {})
	}
	return nil
}

// limits returns the limits that the repository declares.
func (s Service) limits() []fleet.Limits {
	all, _, _ := s.Records.Limits.Get(assign.LimitsKey)
	return all
}

// find returns all organizations if one of them has a path, and the user sees it. Otherwise it does not exist.
func (s Service) find(ctx context.Context, c api.Caller, path string) (map[fleet.Organization]*document.Organization,
	error) {
	o := fleet.Organization(path)
	unknown := &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the organization %.80q", path),
		Hint: "List them: fettle organization list"}
	if o.Check() != nil || o == "" || !c.Organization.Contains(o) {
		return nil, unknown
	}
	all, err := s.all(ctx)
	if err == nil && all[o] == nil {
		err = unknown
	}
	return all, err
}

// show returns one organization with the organizations on its path.
func (s Service) show(ctx context.Context, c api.Caller, at route.OrganizationName, _ route.None) (
	document.OrganizationDetail, error) {
	out := document.OrganizationDetail{Format: document.OrganizationFormat, Upstream: []document.Organization{},
		Downstream: []fleet.Organization{}}
	all, err := s.find(ctx, c, at.Organization)
	if err != nil {
		return out, err
	}
	o := fleet.Organization(at.Organization)
	out.Organization = *all[o]
	for _, path := range slices.Sorted(maps.Keys(all)) {
		switch {
		case path == o:
		case path.Contains(o):
			d := *all[path]
			if !c.Organization.Contains(path) {
				d.Targets, d.Users = 0, 0
			}
			out.Upstream = append(out.Upstream, d)
		case o.Contains(path):
			out.Downstream = append(out.Downstream, path)
		}
	}
	out.Waiting = s.waiting(o)
	return out, nil
}

// freeze freezes the targets of an organization.
func (s Service) freeze(ctx context.Context, c api.Caller, at route.OrganizationName, r document.FreezeRequest) (
	document.Done, error) {
	if r.Reason == "" || r.For < 0 {
		return document.Done{}, &api.Refusal{Status: api.BadRequest,
			Why:  "cannot freeze an organization without a reason, or for a negative time",
			Hint: "Give a reason for other users: fettle organization freeze NAME --reason WHY"}
	}
	if _, err := s.find(ctx, c, at.Organization); err != nil {
		return document.Done{}, err
	}
	return api.Done(s.Freezes.FreezeOrganization(ctx, c.Principal, fleet.Organization(at.Organization), r),
		"All targets of %s are frozen, also targets that join later. Offline agents get the freeze when they connect.",
		at.Organization)
}

// unfreeze ends the freeze that a user ordered. A freeze that this hub does not see yet ends, too.
func (s Service) unfreeze(ctx context.Context, c api.Caller, at route.OrganizationName, _ document.ReasonRequest) (
	document.Done, error) {
	if _, err := s.find(ctx, c, at.Organization); err != nil {
		return document.Done{}, err
	}
	o := fleet.Organization(at.Organization)
	text := "The freeze of %s has ended. Targets with another freeze stay frozen."
	for _, l := range s.limits() {
		if l.Organization == o && l.Freeze != "" {
			text = "The freeze of %s by users has ended. The repository also declares a freeze, which ends with a commit."
		}
	}
	return api.Done(s.Freezes.UnfreezeOrganization(ctx, c.Principal, o), text, o)
}

// waiting returns the open rollouts with targets of an organization that need approvals for it.
func (s Service) waiting(o fleet.Organization) []document.OrganizationRollout {
	out := []document.OrganizationRollout{}
	need := s.need(o)
	for _, w := range s.Rollouts.Waiting() {
		n := s.within(o, w.Pending)
		if need == 0 || n == 0 || len(w.Consents[o]) >= need {
			continue
		}
		d := document.OrganizationRollout{Rollout: w.ID, Cause: w.Cause, Targets: n, Need: need,
			Approvals: []document.GateApproval{}}
		for _, a := range w.Consents[o] {
			d.Approvals = append(d.Approvals, document.GateApproval{By: a.By, At: a.At})
		}
		if v, ok := w.Vetoes[o]; ok {
			d.Rejected = &document.OrganizationRejection{By: v.By, At: v.At, Reason: v.Why}
		}
		out = append(out, d)
	}
	return out
}

// need returns the number of approvals that an organization itself requires.
func (s Service) need(o fleet.Organization) int {
	for _, l := range s.limits() {
		if l.Organization == o {
			return l.Approvals
		}
	}
	return 0
}

// within returns the number of targets that belong to an organization.
func (s Service) within(o fleet.Organization, ids []fleet.TargetID) (n int) {
	for _, id := range ids {
		if t, _, ok := s.Records.Targets.Get(string(id)); ok && o.Contains(t.Organization) {
			n++
		}
	}
	return n
}

// approve approves a rollout for an organization.
func (s Service) approve(ctx context.Context, c api.Caller, at route.OrganizationName,
	r document.OrganizationApprovalRequest) (document.Done, error) {
	return s.order(ctx, c, at, r, rollout.ToApprove, "Your approval of the rollout %s counts for %s.")
}

// reject rejects a rollout for an organization. Its approvals no longer count: as many users as necessary must approve
// the rollout again. Targets that have the change keep it.
func (s Service) reject(ctx context.Context, c api.Caller, at route.OrganizationName,
	r document.OrganizationApprovalRequest) (document.Done, error) {
	if r.Reason == "" {
		return document.Done{}, &api.Refusal{Status: api.BadRequest, Why: "cannot reject a rollout without a reason",
			Hint: "Add a reason: fettle organization reject ORGANIZATION ROLLOUT --reason WHY"}
	}
	return s.order(ctx, c, at, r, rollout.ToReject,
		"The rollout %s is rejected for %s: its other targets wait until users approve it again.")
}

// order decides about a rollout for an organization. A rollout without waiting targets of the organization does not
// exist for it. text is the answer.
func (s Service) order(ctx context.Context, c api.Caller, at route.OrganizationName,
	r document.OrganizationApprovalRequest, action rollout.Action, text string) (document.Done, error) {
	if _, err := s.find(ctx, c, at.Organization); err != nil {
		return document.Done{}, err
	}
	o := fleet.Organization(at.Organization)
	hint := "See the rollouts that wait: fettle organization show " + at.Organization
	if s.need(o) == 0 {
		return document.Done{}, &api.Refusal{Status: api.Conflict,
			Why: fmt.Sprintf("the organization %s requires no approvals of its own", o), Hint: hint}
	}
	known := false
	for _, w := range s.Rollouts.Waiting() {
		known = known || w.ID == r.Rollout && s.within(o, w.Pending) > 0
	}
	if !known {
		return document.Done{}, &api.Refusal{Status: api.NotFound,
			Why: fmt.Sprintf("no rollout %.20q has targets of %s that wait for it", r.Rollout, o), Hint: hint}
	}
	err := s.Rollouts.OrderRollout(ctx, rollout.Command{Action: action, Rollout: r.Rollout, By: c.Name,
		Why: r.Reason, Groups: c.Groups(), Organization: o})
	if refused := (*rollout.CommandError)(nil); errors.As(err, &refused) {
		err = &api.Refusal{Status: api.Conflict, Why: refused.Error(), Hint: hint}
	}
	return api.Done(err, text, r.Rollout, o)
}
