package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"fettle.dev/fettle/internal/fleet"
)

// Attempt is an attempt of a browser to sign in at a provider. Only this browser may know it: a cookie contains it
// until the provider sends the browser back.
type Attempt struct {
	State    string // connects the answer with the browser, see RFC 6749, section 10.12
	Nonce    string // connects the ID token with the browser, see OpenID Connect Core 1.0, section 3.1.2.1
	Verifier string // connects the code with this hub, see RFC 7636
}

// AttemptLife limits the time that a user has for the provider.
const AttemptLife = 10 * time.Minute

// String returns the attempt for a cookie.
func (a Attempt) String() string { return a.State + "." + a.Nonce + "." + a.Verifier }

// ParseAttempt reads the text of String. ok is false for other text.
func ParseAttempt(text string) (a Attempt, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(text) > 200 {
		return Attempt{}, false
	}
	for _, p := range parts {
		if len(p) < 20 {
			return Attempt{}, false
		}
	}
	return Attempt{parts[0], parts[1], parts[2]}, true
}

// SignInURL returns the address at the provider to which a browser must go, and the attempt for its cookie. redirect is
// the address of the hub to which the provider sends the browser back.
func (p *Provider) SignInURL(ctx context.Context, redirect string, now time.Time) (address string, a Attempt,
	err error) {
	c, err := p.config(ctx, redirect, now)
	if err != nil {
		return "", Attempt{}, err
	}
	a = Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return c.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce)), a, nil
}

// SignIn returns the user of an answer of the provider. redirect is the same as for SignInURL. It asks the provider for
// the ID token (OpenID Connect Core 1.0, section 3.1.3). If the answer does not belong to the attempt, or gives no
// access, the error wraps fleet.ErrDenied.
func (p *Provider) SignIn(ctx context.Context, a Attempt, redirect string, answer url.Values,
	now time.Time) (Principal, error) {
	if subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(a.State)) != 1 {
		return Principal{}, fmt.Errorf("the answer of the provider is for another sign-in: %w", fleet.ErrDenied)
	}
	if why := answer.Get("error"); why != "" {
		return Principal{}, fmt.Errorf("the provider answers %.60q %.200q: %w", why, answer.Get("error_description"),
			fleet.ErrDenied)
	}
	if iss := answer.Get("iss"); iss != "" && iss != p.Issuer { // RFC 9207
		return Principal{}, fmt.Errorf("the answer is of another provider: %w", fleet.ErrDenied)
	}
	text, err := p.exchange(ctx, a, redirect, answer.Get("code"), now)
	if err != nil {
		return Principal{}, err
	}
	c, err := p.verify(ctx, text, now)
	if err != nil {
		return Principal{}, err
	}
	if subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(a.Nonce)) != 1 {
		return Principal{}, fmt.Errorf("the ID token is for another sign-in: %w", fleet.ErrDenied)
	}
	return p.user(c)
}

// exchange returns the ID token for a code.
func (p *Provider) exchange(ctx context.Context, a Attempt, redirect, code string, now time.Time) (string, error) {
	c, err := p.config(ctx, redirect, now)
	if err != nil {
		return "", err
	}
	t, err := c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, p.client()), code, oauth2.VerifierOption(a.Verifier))
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.ErrorCode != "" {
		return "", fmt.Errorf("the provider answers %.60q %.200q: %w", refused.ErrorCode, refused.ErrorDescription,
			fleet.ErrDenied)
	}
	if err != nil {
		return "", fmt.Errorf("cannot ask the OIDC provider %s for the ID token: %w", p.Issuer, err)
	}
	text, _ := t.Extra("id_token").(string)
	return text, nil
}

// config returns the description of this hub for the provider.
func (p *Provider) config(ctx context.Context, redirect string, now time.Time) (oauth2.Config, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refresh(ctx, now, p.endpoints.AuthURL != ""); err != nil {
		return oauth2.Config{}, err
	}
	if !strings.HasPrefix(p.endpoints.AuthURL, "https://") || !strings.HasPrefix(p.endpoints.TokenURL, "https://") {
		return oauth2.Config{}, fmt.Errorf("the OIDC provider %s signs no browsers in now: it has no https endpoints for it",
			p.Issuer)
	}
	return oauth2.Config{ClientID: p.Client, ClientSecret: p.Secret, Endpoint: p.endpoints, RedirectURL: redirect,
		Scopes: append([]string{"openid", "email", "profile"}, p.Scopes...)}, nil
}

// NewSession creates the session of a browser of a user of SignIn. The text is the secret of the browser; store b.
func (p *Provider) NewSession(who Principal, now time.Time) (text string, b Bearer, err error) {
	text, b, err = NewBearer(who.Name, rolesWithin(who.rights), SessionLife, who.Name, "browser", now)
	b.Session, b.Issuer, b.Organization = true, p.Issuer, who.Organization
	return text, b, err
}
