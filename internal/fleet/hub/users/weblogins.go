package users

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// SignInPath is the path of the page that signs a browser in. The query of a link has its code.
const SignInPath = "/sign-in"

// CreateWebLogin creates a link that signs a browser in once. Only the answer contains its code. It removes links that
// have expired, and sessions that have been unusable for a while.
func (a *Accounts) CreateWebLogin(ctx context.Context, by api.Caller,
	r document.WebLoginRequest) (document.WebLogin, error) {
	name := cmp.Or(r.User, by.Name)
	if name != by.Name && !by.May(access.Admin) {
		return document.WebLogin{}, &api.Refusal{Status: 403, Why: "cannot sign in another user without the right admin",
			Hint: "Omit --user, to sign in yourself"}
	}
	if by.Session { // otherwise a stolen session could outlive the sign-out of its user
		return document.WebLogin{}, &api.Refusal{Status: 403, Why: "cannot sign in a browser with the session of a browser",
			Hint: "Use a stored login: fettle login --web"}
	}
	user, err := a.user(ctx, by, name)
	if err != nil {
		return document.WebLogin{}, err
	}
	code, w := access.NewWebLogin(user, by.Principal, a.Now())
	if len(w.Roles) == 0 {
		return document.WebLogin{}, &api.Refusal{Status: 403,
			Why:  fmt.Sprintf("cannot sign in %.60s in a browser: no role has only the rights of this login", name),
			Hint: "Ask an admin for a role: fettle user set NAME --role read"}
	}
	a.pruneWebLogins(ctx)
	text, err := json.Marshal(w)
	if err == nil {
		_, err = a.Records.Buckets["people"].Update(ctx, access.WebLoginKey(w.ID), text, 0)
	}
	return document.WebLogin{Format: document.WebLoginFormat, User: name, Expires: w.Expires * 1e9,
		Link: a.URL + SignInPath + "?code=" + url.QueryEscape(code)}, err
}

// user returns a user of the organization of the caller. A locked user is an error.
func (a *Accounts) user(ctx context.Context, by api.Caller, name string) (access.User, error) {
	u, rev, err := a.find(ctx, by, name)
	switch {
	case err == nil && rev == 0:
		return u, &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the user %.60q", name),
			Hint: "Name a user of the hub: fettle login --web --user NAME"}
	case err == nil && u.Locked:
		return u, &api.Refusal{Status: 403, Why: fmt.Sprintf("the user %.60s is locked out", name),
			Hint: "To unlock the user: fettle user set NAME --role ROLE"}
	}
	return u, err
}

// errWebLogin is the error for every invalid code. It does not reveal the reason.
func errWebLogin() error {
	return fmt.Errorf("the link is wrong, has expired or was used before: %w", fleet.ErrDenied)
}

// WebLogin returns the link of a code, and its revision. It does not use the link.
func (a *Accounts) WebLogin(ctx context.Context, code string) (w access.WebLogin, rev uint64, err error) {
	id, secret, ok := access.ParseWebLogin(code)
	if !ok {
		return w, 0, errWebLogin()
	}
	e, err := a.Records.Users.Get(ctx, access.WebLoginKey(id))
	if errors.Is(err, fleet.ErrNotFound) {
		return w, 0, errWebLogin()
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &w)
	}
	if err == nil && !w.Matches(secret, a.Now()) {
		return access.WebLogin{}, 0, errWebLogin()
	}
	return w, e.Rev, err
}

// RedeemWebLogin uses a link of WebLogin: it creates the session of the browser. If several browsers or hubs use the
// same link, only one of them gets a session.
func (a *Accounts) RedeemWebLogin(ctx context.Context, w access.WebLogin, rev uint64) (string, access.Bearer, error) {
	people := a.Records.Buckets["people"]
	err := people.Delete(ctx, access.WebLoginKey(w.ID), rev)
	if errors.Is(err, fleet.ErrConflict) || errors.Is(err, fleet.ErrNotFound) {
		return "", access.Bearer{}, errWebLogin()
	}
	if err != nil {
		return "", access.Bearer{}, err
	}
	text, b, err := w.NewSession(a.Now())
	if err != nil {
		return "", access.Bearer{}, errWebLogin() // the credential that created the link has expired
	}
	kept, err := json.Marshal(b)
	if err == nil {
		_, err = people.Update(ctx, access.BearerKey(b.ID), kept, 0)
	}
	return text, b, err
}

// pruneWebLogins removes expired links, and sessions that have been unusable for the time Keep. Without it, the store
// would grow with each day of each user. Errors have no effect: the next call repeats it.
func (a *Accounts) pruneWebLogins(ctx context.Context) {
	all, err := a.Records.Users.Entries(ctx)
	if err != nil {
		return
	}
	for _, e := range all {
		if a.isOver(e) {
			_ = a.Records.Buckets["people"].Delete(ctx, e.Key, e.Rev)
		}
	}
}

func (a *Accounts) isOver(e fleet.Entry) bool {
	if strings.HasPrefix(e.Key, access.WebLoginPrefix) {
		var w access.WebLogin
		return json.Unmarshal(e.Value, &w) == nil && a.Now().Unix() >= w.Expires
	}
	var b access.Bearer
	if !strings.HasPrefix(e.Key, access.BearerKey("")) || json.Unmarshal(e.Value, &b) != nil || !b.Session {
		return false
	}
	return a.Now().Sub(time.Unix(b.Expires, 0)) > a.Keep
}
