package users

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// GrantRole gives a user a role for some targets of the organization of the user. An equal grant is replaced. Existing
// logins of the user have the grant at once, unless they have fewer roles.
func (a *Accounts) GrantRole(ctx context.Context, by api.Caller, at route.UserName, r document.GrantRequest) (
	document.Done, error) {
	var g access.Grant
	err := a.changeGrants(ctx, by, at.User, func(u *access.User) (err error) {
		if g, err = a.grantOf(by, *u, r); err != nil {
			return err
		}
		u.Grants = append(slices.DeleteFunc(slices.Clone(u.Grants), g.Equal), g)
		if len(u.Grants) > access.MaxGrants {
			return &api.Refusal{Status: api.Conflict,
				Why:  fmt.Sprintf("cannot give %.60s more than %d grants", at.User, access.MaxGrants),
				Hint: "Select targets by labels, or end other grants: fettle user show " + at.User}
		}
		return nil
	})
	n := a.count(g.TargetFilter)
	text := "%s has the role %s for %d targets now, and for targets that match the selection later."
	switch {
	case n == 1:
		text = "%s has the role %s for %d target now, and for targets that match the selection later."
	case n == 0:
		text = "%s has the role %s for targets that match the selection: now %d targets do. " +
			"See their labels: fettle target list"
	}
	return api.Done(err, text, at.User, g.Role, n)
}

// EndGrant ends the grant with the same role and selection. It takes effect at once, also for open streams within half
// a minute, and for jobs that have not started on a target.
func (a *Accounts) EndGrant(ctx context.Context, by api.Caller, at route.UserName, r document.GrantRequest) (
	document.Done, error) {
	err := a.changeGrants(ctx, by, at.User, func(u *access.User) error {
		had := len(u.Grants)
		u.Grants = slices.DeleteFunc(slices.Clone(u.Grants), func(g access.Grant) bool { return a.matches(g, *u, r) })
		if len(u.Grants) == had {
			return &api.Refusal{Status: api.NotFound,
				Why:  fmt.Sprintf("cannot find a grant of %.60s with this role and this selection", at.User),
				Hint: "List the grants: fettle user show " + at.User}
		}
		return nil
	})
	return api.Done(err, "The grant of %s has ended.", at.User)
}

// changeGrants changes the grants of a user of the organization of the caller.
func (a *Accounts) changeGrants(ctx context.Context, by api.Caller, name string,
	change func(*access.User) error) error {
	for {
		u, rev, err := a.find(ctx, by, name)
		if err == nil && rev == 0 {
			err = nobodyCalled(name)
		}
		if err == nil {
			err = change(&u)
		}
		if err != nil {
			return err
		}
		u.Changed, u.By = a.Now().Unix(), by.Name
		text, err := json.Marshal(u)
		if err == nil {
			_, err = a.Records.Buckets["people"].Update(ctx, access.UserKey(name), text, rev)
		}
		if !errors.Is(err, fleet.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

// organizationOf returns the organization of a request.
func organizationOf(u access.User, r document.GrantRequest) fleet.Organization {
	if r.Organization == nil {
		return u.Organization
	}
	return fleet.Organization(*r.Organization)
}

// grantOf returns the grant of a request. Targets outside of the organization of the grant do not exist.
func (a *Accounts) grantOf(by api.Caller, u access.User, r document.GrantRequest) (access.Grant, error) {
	g := access.Grant{Role: access.Role(r.Role), Changed: a.Now().Unix(), By: by.Name, Reason: r.Reason,
		TargetFilter: fleet.TargetFilter{Organization: organizationOf(u, r), Labels: r.Labels}}
	for _, name := range r.Targets {
		id, ok := a.target(g.Organization, name)
		if !ok || !by.Organization.Contains(g.Organization) {
			return g, &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the target %.80q", name),
				Hint: "List targets: fettle target list"}
		}
		g.Targets = append(g.Targets, id)
	}
	slices.Sort(g.Targets)
	g.Targets = slices.Compact(g.Targets)
	if err := g.Check(u.Organization); err != nil {
		return g, &api.Refusal{Status: api.BadRequest, Why: err.Error(),
			Hint: "Roles for all targets of a user: fettle user set NAME --role ROLE"}
	}
	return g, nil
}

// target returns a target of an organization that has not left the fleet, by its name or identity.
func (a *Accounts) target(of fleet.Organization, name string) (id fleet.TargetID, ok bool) {
	for _, t := range a.Records.Targets.Values() {
		gone := t.Standing == fleet.Retired || t.Standing == fleet.Revoked
		if (t.Name == name || string(t.ID) == name) && !gone && of.Contains(t.Organization) {
			return t.ID, true
		}
	}
	return "", false
}

// count returns the number of active targets that a filter selects.
func (a *Accounts) count(f fleet.TargetFilter) (n int) {
	for _, t := range a.Records.Targets.Values() {
		if t.Standing == fleet.Active && f.Contains(t) {
			n++
		}
	}
	return n
}

// matches reports whether a request names a grant. It may name targets by their names or identities.
func (a *Accounts) matches(g access.Grant, u access.User, r document.GrantRequest) bool {
	named := access.Grant{Role: access.Role(r.Role),
		TargetFilter: fleet.TargetFilter{Organization: organizationOf(u, r), Labels: r.Labels}}
	for _, t := range a.describedTargets(g.Targets) {
		if slices.Contains(r.Targets, string(t.ID)) || t.Name != "" && slices.Contains(r.Targets, t.Name) {
			named.Targets = append(named.Targets, t.ID)
		}
	}
	return len(slices.Compact(slices.Sorted(slices.Values(r.Targets)))) == len(named.Targets) && g.Equal(named)
}

// describedGrants returns grants with the names of their targets.
func (a *Accounts) describedGrants(all []access.Grant) (out []document.UserGrant) {
	for _, g := range all {
		out = append(out, document.UserGrant{Role: string(g.Role), Organization: string(g.Organization), Labels: g.Labels,
			Targets: a.describedTargets(g.Targets), Changed: g.Changed * 1e9, By: g.By, Reason: g.Reason})
	}
	return out
}

func (a *Accounts) describedTargets(ids []fleet.TargetID) (out []document.GrantTarget) {
	for _, id := range ids {
		t, _, _ := a.Records.Targets.Get(string(id))
		out = append(out, document.GrantTarget{ID: id, Name: t.Name})
	}
	return out
}
