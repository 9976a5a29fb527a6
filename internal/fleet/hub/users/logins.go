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
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// DefaultLoginLife is the default validity of a login.
const DefaultLoginLife = 90 * 24 * time.Hour

// Users returns all users, sorted by name.
func (a *Accounts) Users(ctx context.Context) (document.UserPage, error) {
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
		k := document.User{Name: p.Name, Roles: []string{}, Locked: p.Locked, Changed: p.Changed * 1e9, By: p.By,
			Groups: p.Groups}
		for _, r := range p.Roles {
			k.Roles = append(k.Roles, string(r))
		}
		out.Users = append(out.Users, k)
	}
	slices.SortFunc(out.Users, func(a, b document.User) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// SetUser creates or changes a user. The roles apply to existing logins at once.
func (a *Accounts) SetUser(ctx context.Context, by api.Caller, r document.UserRequest) (document.Done, error) {
	return api.Done(a.setUser(ctx, by.Name, r), "%s", userText(r))
}

// userText describes a user after a change.
func userText(r document.UserRequest) string {
	groups := ""
	if len(r.Groups) > 0 {
		groups = " Groups: " + strings.Join(r.Groups, ", ") + "."
	}
	switch {
	case r.Locked:
		return "The user " + r.Name + " is locked out."
	case len(r.Roles) == 0:
		return "The user " + r.Name + " has no role." + groups
	case len(r.Roles) == 1:
		return "The user " + r.Name + " has the role " + r.Roles[0] + "." + groups
	}
	return "The user " + r.Name + " has the roles " + strings.Join(r.Roles, ", ") + "." + groups
}

func (a *Accounts) setUser(ctx context.Context, by string, r document.UserRequest) error {
	p := access.User{Name: r.Name, Locked: r.Locked, Changed: a.Now().Unix(), By: by,
		Groups: slices.Sorted(slices.Values(r.Groups))}
	for _, role := range r.Roles {
		p.Roles = append(p.Roles, access.Role(role))
	}
	if err := errors.Join(pki.CheckUser(r.Name), access.CheckRoles(p.Roles), access.CheckGroups(p.Groups)); err != nil {
		return &api.Refusal{Status: api.BadRequest, Why: err.Error(),
			Hint: "Roles are read, operate, approve and admin"}
	}
	text, err := json.Marshal(p)
	if err == nil {
		_, err = a.Records.Buckets["people"].Put(ctx, access.UserKey(p.Name), text)
	}
	return err
}

// Logins returns the tokens of a user, the newest first.
func (a *Accounts) Logins(ctx context.Context, at route.UserName) (document.LoginPage, error) {
	out, known := document.LoginPage{Format: document.LoginPageFormat, Name: at.User, Logins: []document.Login{}}, false
	entries, err := a.Records.Users.Entries(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range entries {
		known = known || e.Key == access.UserKey(at.User)
		if !strings.HasPrefix(e.Key, access.BearerKey("")) {
			continue
		}
		var b access.Bearer
		if err := json.Unmarshal(e.Value, &b); err != nil {
			return out, fmt.Errorf("cannot read %s of the store of users: %w", e.Key, err)
		}
		if b.User != at.User {
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

func nobodyCalled(name string) error {
	return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the user %.60q", name),
		Hint: "List the users: fettle user list"}
}

// RevokeLogin revokes one token of a user. Every hub reads the store at each use of a token, so the
// token is refused from now on. Revoking it again has no effect.
func (a *Accounts) RevokeLogin(ctx context.Context, _ api.Caller, at route.LoginID, _ document.ReasonRequest) error {
	return a.revokeLogin(ctx, at.User, at.Login)
}

func (a *Accounts) revokeLogin(ctx context.Context, name, id string) error {
	key := access.BearerKey(access.BearerID(id))
	for {
		e, err := a.Records.Buckets["people"].Get(ctx, key)
		var b access.Bearer
		if err == nil {
			err = json.Unmarshal(e.Value, &b)
		}
		if errors.Is(err, fleet.ErrNotFound) || err == nil && b.User != name {
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
	e, err := users.Get(ctx, access.UserKey(at.User))
	if errors.Is(err, fleet.ErrNotFound) {
		return document.NewLogin{}, &api.Refusal{Status: api.NotFound,
			Why:  fmt.Sprintf("cannot find the user %.60q", at.User),
			Hint: "Create the user first: fettle user set NAME --role read"}
	}
	var p access.User
	if err == nil {
		err = json.Unmarshal(e.Value, &p)
	}
	if err != nil {
		return document.NewLogin{}, err
	}
	text, b, err := access.NewBearer(p.Name, p.Roles, cmp.Or(time.Duration(r.Expires), DefaultLoginLife), by.Name,
		r.Note, a.Now())
	if err != nil {
		return document.NewLogin{}, &api.Refusal{Status: api.BadRequest, Why: err.Error()}
	}
	kept, err := json.Marshal(b)
	if err == nil {
		_, err = users.Update(ctx, access.BearerKey(b.ID), kept, 0)
	}
	return document.NewLogin{Format: document.NewLoginFormat, Name: p.Name, ID: b.Prefix(), Expires: b.Expires * 1e9,
		Secret: text}, err
}
