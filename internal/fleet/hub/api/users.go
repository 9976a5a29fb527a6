package api

import (
	"context"
	"strings"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Users are the users of the hubs.
type Users interface {
	Users(ctx context.Context) ([]document.User, error)
	SetUser(ctx context.Context, by access.Principal, r document.UserRequest) error
}

// Logins are the bearer tokens of users.
type Logins interface {
	// CreateLogin creates a token for an existing user.
	CreateLogin(ctx context.Context, by access.Principal, name string, r document.LoginRequest) (document.NewLogin, error)
	// Logins lists the tokens of a user. RevokeLogin revokes one of them at all hubs.
	Logins(ctx context.Context, name string) ([]document.Login, error)
	RevokeLogin(ctx context.Context, by access.Principal, name, login string) error
}

// WebLogins are links that sign browsers in.
type WebLogins interface {
	// CreateWebLogin creates a link. The session of the browser has at most the rights of by.
	CreateWebLogin(ctx context.Context, by access.Principal, r document.WebLoginRequest) (document.WebLogin, error)
}

// HandleUsers registers the handlers of users.
func HandleUsers(t *Table, b Users) {
	handleGet(t, route.Users(), func(ctx context.Context) (document.UserPage, error) {
		all, err := b.Users(ctx)
		return document.UserPage{Format: document.UserPageFormat, Users: append([]document.User{}, all...)}, err
	})
	handlePost(t, route.SetUser(), func(ctx context.Context, c Caller, r document.UserRequest) (document.Done, error) {
		return done(b.SetUser(ctx, c.Principal, r), "%s", userText(r))
	})
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

// HandleLogins registers the handlers of bearer tokens.
func HandleLogins(t *Table, b Logins) {
	Handle(t, route.CreateLogin(),
		func(ctx context.Context, c Caller, at route.UserName, r document.LoginRequest) (document.NewLogin, error) {
			l, err := b.CreateLogin(ctx, c.Principal, at.User, r)
			l.Format = document.NewLoginFormat
			return l, err
		})
	Handle(t, route.Logins(),
		func(ctx context.Context, _ Caller, at route.UserName, _ route.None) (document.LoginPage, error) {
			all, err := b.Logins(ctx, at.User)
			return document.LoginPage{Format: document.LoginPageFormat,
				Name: at.User, Logins: append([]document.Login{}, all...)}, err
		})
	Handle(t, route.RevokeLogin(),
		func(ctx context.Context, c Caller, at route.LoginID, _ document.ReasonRequest) (document.Done, error) {
			return done(b.RevokeLogin(ctx, c.Principal, at.User, at.Login),
				"The login token %s of %s is revoked.", at.Login, at.User)
		})
}

// HandleWebLogins registers the handler of links that sign browsers in.
func HandleWebLogins(t *Table, b WebLogins) {
	handlePost(t, route.CreateWebLogin(),
		func(ctx context.Context, c Caller, r document.WebLoginRequest) (document.WebLogin, error) {
			l, err := b.CreateWebLogin(ctx, c.Principal, r)
			l.Format = document.WebLoginFormat
			return l, err
		})
}
