package users

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// find returns a user of the organization of the caller, and its revision. The revision is 0 if there is none: users of
// other organizations do not exist for the caller.
func (a *Accounts) find(ctx context.Context, c api.Caller, name string) (u access.User, rev uint64, err error) {
	e, err := a.Records.Buckets["people"].Get(ctx, access.UserKey(name))
	if errors.Is(err, fleet.ErrNotFound) {
		return access.User{}, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &u)
	}
	if err != nil || !c.Organization.Contains(u.Organization) {
		return access.User{}, 0, err
	}
	return u, e.Rev, nil
}

func nobodyCalled(name string) error {
	return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the user %.60q", name),
		Hint: "List the users: fettle user list"}
}

// SetUser creates or changes a user. The roles apply to existing logins at once. Grants stay. A change of the
// organization ends all logins and grants of the user.
func (a *Accounts) SetUser(ctx context.Context, by api.Caller, r document.UserRequest) (document.Done, error) {
	of, err := a.setUser(ctx, by, r)
	return api.Done(err, "%s", userText(r, of))
}

// userText describes a user after a change.
func userText(r document.UserRequest, of fleet.Organization) string {
	rest := ""
	if of != "" {
		rest = " Organization: " + string(of) + "."
	}
	if len(r.Groups) > 0 {
		rest += " Groups: " + strings.Join(r.Groups, ", ") + "."
	}
	switch {
	case r.Locked:
		return "The user " + r.Name + " is locked out."
	case len(r.Roles) == 0:
		return "The user " + r.Name + " has no role." + rest
	case r.Roles[0] == noRole:
		return "The user " + r.Name + " has no role, only grants." + rest
	case len(r.Roles) == 1:
		return "The user " + r.Name + " has the role " + r.Roles[0] + "." + rest
	}
	return "The user " + r.Name + " has the roles " + strings.Join(r.Roles, ", ") + "." + rest
}

// noRole is the role in a request that removes all roles. An empty list is an error, because it can be a mistake.
const noRole = "none"

// setUser returns the organization of the user.
func (a *Accounts) setUser(ctx context.Context, by api.Caller, r document.UserRequest) (fleet.Organization, error) {
	p := access.User{Name: r.Name, Locked: r.Locked, Changed: a.Now().Unix(), By: by.Name,
		Groups: slices.Sorted(slices.Values(r.Groups))}
	for _, role := range r.Roles {
		p.Roles = append(p.Roles, access.Role(role))
	}
	wrong := access.CheckRoles(p.Roles)
	if slices.Equal(r.Roles, []string{noRole}) {
		p.Roles, wrong = nil, nil
	}
	if err := errors.Join(pki.CheckUser(r.Name), wrong, access.CheckGroups(p.Groups)); err != nil {
		return "", &api.Refusal{Status: api.BadRequest, Why: err.Error(),
			Hint: "Roles are read, operate, approve and admin, or none for a user who gets only grants"}
	}
	if by.Organization != "" && len(p.Groups) > 0 {
		return "", &api.Refusal{Status: 403, Why: "cannot give groups to a user of an organization: they approve rollouts",
			Hint: "Omit the groups"}
	}
	for {
		rev, err := a.place(ctx, by, r, &p)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(p)
		if err == nil {
			_, err = a.Records.Buckets["people"].Update(ctx, access.UserKey(p.Name), text, rev)
		}
		if !errors.Is(err, fleet.ErrConflict) || ctx.Err() != nil {
			return p.Organization, err
		}
	}
}

// place sets the organization of a user, and returns the revision of its record; 0 means that it is new.
func (a *Accounts) place(ctx context.Context, by api.Caller, r document.UserRequest, p *access.User) (uint64, error) {
	had, rev, err := a.find(ctx, api.Caller{}, r.Name)
	if err != nil {
		return 0, err
	}
	if rev > 0 && !by.Organization.Contains(had.Organization) {
		return 0, &api.Refusal{Status: api.Conflict, Why: fmt.Sprintf("cannot use the name %.60q for a user", r.Name),
			Hint: "Use another name, such as NAME@ORGANIZATION"}
	}
	switch {
	case r.Organization != nil:
		p.Organization = fleet.Organization(*r.Organization)
	case rev > 0:
		p.Organization = had.Organization
	default:
		p.Organization = by.Organization
	}
	p.Moves, p.Grants = had.Moves, had.Grants
	if rev > 0 && p.Organization != had.Organization {
		p.Moves, p.Grants = had.Moves+1, nil
	}
	return rev, within(by, p.Organization)
}

// within returns a refusal unless a path is valid, and the organization of the caller contains it.
func within(by api.Caller, of fleet.Organization) error {
	if err := of.Check(); err != nil {
		return &api.Refusal{Status: api.BadRequest, Why: err.Error(), Hint: "Write it as acme or acme/search"}
	}
	if !by.Organization.Contains(of) {
		return &api.Refusal{Status: 403, Why: fmt.Sprintf("cannot use an organization outside of %s", by.Organization),
			Hint: "Omit it for your own organization"}
	}
	return nil
}
