package users

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// Browsers signs browsers in and out, and records it in the audit log. All fields except Provider must be set. It is
// safe for concurrent use.
type Browsers struct {
	Accounts     *Accounts
	Authenticate api.Authenticate
	// CountFailure counts a failed sign-in of the address of a request. It returns false if there were too many.
	CountFailure func(*http.Request) bool
	Audit        api.Audit
	// MayChange returns an error while no change is possible.
	MayChange func() error
	// Provider authenticates users of OIDC; nil means none. URLs are the addresses of the hub.
	Provider *access.Provider
	URLs     []string
}

// SignIn uses the code of a link. It returns the secret of a new session and its duration. If the code is not valid,
// the error wraps fleet.ErrDenied.
func (b Browsers) SignIn(r *http.Request, code string) (secret string, life time.Duration, err error) {
	if err := b.MayChange(); err != nil {
		return "", 0, err
	}
	w, rev, err := b.Accounts.WebLogin(r.Context(), code)
	entry := access.Entry{User: w.User, Credential: "web login " + w.ID, Operation: "POST " + SignInPath,
		From: r.RemoteAddr}
	if err != nil {
		return "", 0, b.failed(r, entry, err)
	}
	if err := b.audit(r, entry, access.Begun); err != nil {
		return "", 0, err
	}
	secret, session, err := b.Accounts.RedeemWebLogin(r.Context(), w, rev)
	if err != nil {
		return "", 0, b.failed(r, entry, err)
	}
	entry.Object = session.Prefix()
	return secret, time.Unix(session.Expires, 0).Sub(b.Accounts.Now()), b.audit(r, entry, access.Done)
}

// failed counts and records a failed attempt. After too many of them from one address, it stops recording: strangers
// must not fill the disk.
func (b Browsers) failed(r *http.Request, e access.Entry, err error) error {
	if !errors.Is(err, fleet.ErrDenied) {
		_ = b.audit(r, e, err.Error())
		return err
	}
	if !b.CountFailure(r) {
		return errAttempts()
	}
	if e.User == "" {
		e.Credential = ""
	}
	_ = b.audit(r, e, access.Denied)
	return err
}

func errAttempts() error {
	return fmt.Errorf("too many attempts from this address have failed. Wait a minute: %w", fleet.ErrDenied)
}

// SignOut revokes the session of a request, at all hubs.
func (b Browsers) SignOut(r *http.Request) error {
	who, err := b.Authenticate(r)
	if err != nil || who.Login == "" {
		return err // it is over, or a certificate, which has no session
	}
	if err := b.MayChange(); err != nil {
		return err
	}
	entry := access.Entry{User: who.Name, Credential: who.Credential, Operation: "POST /sign-out",
		Object: access.Bearer{ID: who.Login}.Prefix(), From: r.RemoteAddr}
	if err := b.audit(r, entry, access.Begun); err != nil {
		return err
	}
	err = b.Accounts.revokeLogin(r.Context(), "", who.Name, who.Login)
	outcome := access.Done
	if err != nil {
		outcome = err.Error()
	}
	_ = b.audit(r, entry, outcome) // the record of the request exists already
	return err
}

func (b Browsers) audit(r *http.Request, e access.Entry, outcome string) error {
	e.Outcome = outcome
	if err := b.Audit(context.WithoutCancel(r.Context()), e); err != nil {
		return fmt.Errorf("cannot write the audit log, so nothing was changed: %w", err)
	}
	return nil
}
