package users

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// DefaultLoginLife is the default validity of a login.
const DefaultLoginLife = 90 * 24 * time.Hour

// Users returns the users of the organization of the caller, sorted by name.
func (a *Accounts) Users(ctx context.Context, c api.Caller, _, _ route.None) (document.UserPage, error) {
	out := document.UserPage{Format: document.UserPageFormat, Users: []document.User{}}
	entries, err := a.Records.Users.Entries(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Key, "user/") {
			continue
		}
		var p access.User
		if err := json.Unmarshal(e.Value, &p); err != nil {
			return out, fmt.Errorf("cannot read the user in %s: %w", e.Key, err)
		}
		if !c.Organization.Contains(p.Organization) {
			continue
		}
		k := document.User{Name: p.Name, Roles: []string{}, Locked: p.Locked, Changed: p.Changed * 1e9, By: p.By,
			Groups: p.Groups, Organization: string(p.Organization), Grants: a.describedGrants(p.Grants)}
		for _, r := range p.Roles {
			k.Roles = append(k.Roles, string(r))
		}
		out.Users = append(out.Users, k)
	}
	slices.SortFunc(out.Users, func(a, b document.User) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Logins returns the tokens of a user, the newest first. The user must belong to the organization of the caller. Tokens
// from the time in another organization are omitted.
func (a *Accounts) Logins(ctx context.Context, c api.Caller, at route.UserName, _ route.None) (document.LoginPage,
	error) {
	out := document.LoginPage{Format: document.LoginPageFormat, Name: at.User, Logins: []document.Login{}}
	known := false
	entries, err := a.Records.Users.Entries(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range entries {
		if e.Key == access.UserKey(at.User) {
			var p access.User
			if err := json.Unmarshal(e.Value, &p); err != nil {
				return out, fmt.Errorf("cannot read the user in %s: %w", e.Key, err)
			}
			known = c.Organization.Contains(p.Organization)
		}
		if !strings.HasPrefix(e.Key, access.BearerKey("")) {
			continue
		}
		var b access.Bearer
		if err := json.Unmarshal(e.Value, &b); err != nil {
			return out, fmt.Errorf("cannot read %s of the store of users: %w", e.Key, err)
		}
		if b.User != at.User || !c.Organization.Contains(b.Organization) {
			continue
		}
		l := document.Login{ID: b.Prefix(), Roles: []string{}, Made: b.Created * 1e9, By: b.By, Expires: b.Expires * 1e9,
			Revoked: b.Revoked * 1e9, Note: b.Note}
		for _, r := range b.Roles {
			l.Roles = append(l.Roles, string(r))
		}
		out.Logins = append(out.Logins, l)
	}
	if !known && len(out.Logins) == 0 {
		return out, nobodyCalled(at.User)
	}
	slices.SortFunc(out.Logins, func(a, b document.Login) int {
		return cmp.Or(cmp.Compare(b.Made, a.Made),
			cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// RevokeLogin revokes one token of a user. Every hub reads the store at each use of a token, so the
// token is refused from now on. Revoking it again has no effect.
func (a *Accounts) RevokeLogin(ctx context.Context, c api.Caller, at route.LoginID, _ document.ReasonRequest) error {
	return a.revokeLogin(ctx, c.Organization, at.User, at.Login)
}

// revokeLogin revokes a token of an organization. Other tokens do not exist for it.
func (a *Accounts) revokeLogin(ctx context.Context, of fleet.Organization, name, id string) error {
	key := access.BearerKey(access.BearerID(id))
	for {
		e, err := a.Records.Buckets["people"].Get(ctx, key)
		var b access.Bearer
		if err == nil {
			err = json.Unmarshal(e.Value, &b)
		}
		if errors.Is(err, fleet.ErrNotFound) || err == nil && (b.User != name || !of.Contains(b.Organization)) {
			return &api.Refusal{Status: api.NotFound,
				Why: fmt.Sprintf("cannot find the login %.40q of %.60s", id, name), Hint: "List them: fettle user logins " + name}
		}
		if err != nil || b.Revoked > 0 {
			return err
		}
		b.Revoked = a.Now().Unix()
		text, err := json.Marshal(b)
		if err == nil {
			_, err = a.Records.Buckets["people"].Update(ctx, key, text, e.Rev)
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// CreateLogin creates a token for a user. Only the answer contains its secret: the store has a
// digest.
func (a *Accounts) CreateLogin(ctx context.Context, by api.Caller, at route.UserName,
	r document.LoginRequest) (document.NewLogin, error) {
	users := a.Records.Buckets["people"]
	p, rev, err := a.find(ctx, by, at.User)
	if err != nil {
		return document.NewLogin{}, err
	}
	if rev == 0 {
		return document.NewLogin{}, &api.Refusal{Status: api.NotFound,
			Why:  fmt.Sprintf("cannot find the user %.60q", at.User),
			Hint: "Create the user first: fettle user set NAME --role read"}
	}
	if len(p.AllRoles()) == 0 {
		return document.NewLogin{}, &api.Refusal{Status: api.Conflict,
			Why:  fmt.Sprintf("cannot create a login for %.60s: the user has no role and no grant", at.User),
			Hint: "Give a role or a grant first: fettle user grant NAME --role read --label KEY=VALUE"}
	}
	text, b, err := access.NewBearer(p.Name, p.AllRoles(), cmp.Or(time.Duration(r.Expires), DefaultLoginLife), by.Name,
		r.Note, a.Now())
	if err != nil {
		return document.NewLogin{}, &api.Refusal{Status: api.BadRequest, Why: err.Error()}
	}
	b.Organization, b.Moves = p.Organization, p.Moves
	kept, err := json.Marshal(b)
	if err == nil {
		_, err = users.Update(ctx, access.BearerKey(b.ID), kept, 0)
	}
	return document.NewLogin{Format: document.NewLoginFormat, Name: p.Name, ID: b.Prefix(), Expires: b.Expires * 1e9,
		Secret: text}, err
}
