package users

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// CallbackPath is the path to which an OIDC provider sends a browser back. Admins register it at the provider.
const CallbackPath = "/sign-in/oidc/callback"

// errNoProvider is the error of a hub without a provider.
func errNoProvider() error {
	return fmt.Errorf("this hub has no OIDC provider. Create a link: fettle login --web: %w", fleet.ErrDenied)
}

// ProviderName returns the host of the provider, "" if there is none.
func (b Browsers) ProviderName() string {
	if b.Provider == nil {
		return ""
	}
	u, err := url.Parse(b.Provider.Issuer)
	if err != nil {
		return b.Provider.Issuer
	}
	return u.Host
}

// StartSignIn returns the address at the provider to which a browser must go, and the attempt for its cookie.
func (b Browsers) StartSignIn(r *http.Request) (address, attempt string, err error) {
	if b.Provider == nil {
		return "", "", errNoProvider()
	}
	address, a, err := b.Provider.SignInURL(r.Context(), b.callback(r), b.Accounts.Now())
	return address, a.String(), err
}

// callback returns the address to which the provider sends a browser back: of this hub under the name that the browser
// uses. An unknown name is replaced: a request must not select the receiver of the code.
func (b Browsers) callback(r *http.Request) string {
	base := b.Accounts.URL
	for _, each := range b.URLs {
		if u, err := url.Parse(each); err == nil && u.Host == r.Host {
			base = each
		}
	}
	return base + CallbackPath
}

// FinishSignIn uses the answer of the provider, and creates the session of the browser. If the answer does not belong
// to the attempt, or the provider gives no access, the error wraps fleet.ErrDenied.
func (b Browsers) FinishSignIn(r *http.Request, attempt string) (secret string, life time.Duration, err error) {
	if b.Provider == nil {
		return "", 0, errNoProvider()
	}
	if err := b.MayChange(); err != nil {
		return "", 0, err
	}
	entry := access.Entry{Credential: "oidc " + b.Provider.Issuer, Operation: "GET " + CallbackPath, From: r.RemoteAddr}
	a, ok := access.ParseAttempt(attempt)
	if !ok {
		return "", 0, fmt.Errorf("the sign-in took longer than %s, or began in another browser. Begin again: %w",
			access.AttemptLife, fleet.ErrDenied)
	}
	who, err := b.Provider.SignIn(r.Context(), a, b.callback(r), r.URL.Query(), b.Accounts.Now())
	var known access.User
	if err == nil {
		entry.User = who.Name
		known, err = b.Accounts.unlocked(r.Context(), who.Name)
	}
	if err != nil && !errors.Is(err, fleet.ErrDenied) && !b.CountFailure(r) { // each attempt is a request to the provider
		return "", 0, errAttempts()
	}
	if err != nil {
		return "", 0, b.failed(r, entry, err)
	}
	if err := b.audit(r, entry, access.Begun); err != nil {
		return "", 0, err
	}
	secret, session, err := b.Accounts.createSession(r.Context(), b.Provider, who, known.Moves)
	if err != nil {
		return "", 0, b.failed(r, entry, err)
	}
	entry.Object = session.Prefix()
	return secret, time.Unix(session.Expires, 0).Sub(b.Accounts.Now()), b.audit(r, entry, access.Done)
}

// unlocked returns the user of a name. A user of a provider need not exist: then the result is
// the zero value. It returns an error if the user is locked out.
func (a *Accounts) unlocked(ctx context.Context, name string) (u access.User, err error) {
	e, err := a.Records.Buckets["people"].Get(ctx, access.UserKey(name))
	if errors.Is(err, fleet.ErrNotFound) {
		return u, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &u)
	}
	if err == nil && u.Locked {
		err = fmt.Errorf("the user %.60s is locked out: %w", name, fleet.ErrDenied)
	}
	return u, err
}

// createSession stores the session of a user of a provider, and removes sessions that have been over for a while. moves
// is User.Moves.
func (a *Accounts) createSession(ctx context.Context, p *access.Provider, who access.Principal, moves int) (string,
	access.Bearer, error) {
	a.pruneWebLogins(ctx)
	text, b, err := p.NewSession(who, a.Now())
	if err != nil {
		return "", b, err
	}
	b.Moves = moves
	kept, err := json.Marshal(b)
	if err == nil {
		_, err = a.Records.Buckets["people"].Update(ctx, access.BearerKey(b.ID), kept, 0)
	}
	return text, b, err
}
