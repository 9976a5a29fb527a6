package access_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/test/fakeoidc"
)

const callback = "https://hub.example.org:7440/sign-in/oidc/callback"

// relying returns a running provider, and how a hub uses it.
func relying(t *testing.T) (*fakeoidc.Provider, *access.Provider) {
	t.Helper()
	f, err := fakeoidc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.CA)
	f.Claims = map[string]any{"email": "ann@example.org", "email_verified": true, "groups": []string{"sre"}}
	return f, &access.Provider{Issuer: f.Issuer, Client: fakeoidc.Client, Secret: fakeoidc.Secret,
		Rules: []access.Rule{{Claim: "groups", Value: "sre", Role: access.Operator}},
		HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// begin goes to the provider as a browser does, and returns the attempt and the answer of the provider.
func begin(t *testing.T, p *access.Provider) (access.Attempt, url.Values) {
	t.Helper()
	address, a, err := p.SignInURL(t.Context(), callback, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.HTTP.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	back, err := url.Parse(r.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(back.String(), callback+"?") {
		t.Fatal(r.Status, back, err)
	}
	return a, back.Query()
}

// TestSignInAtProvider: a user with a claim of a rule gets its role, once for each code.
func TestSignInAtProvider(t *testing.T) {
	_, p := relying(t)
	a, answer := begin(t, p)
	kept, ok := access.ParseAttempt(a.String())
	if !ok || kept != a {
		t.Fatal(a.String())
	}
	who, err := p.SignIn(t.Context(), kept, callback, answer, time.Now())
	if err != nil || who.Name != "ann@example.org" || !who.May(access.Operate) || who.May(access.Admin) {
		t.Fatal(who, err)
	}
	if _, err := p.SignIn(t.Context(), a, callback, answer, time.Now()); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("the second use: %v", err)
	}
	text, b, err := p.NewSession(who, time.Now())
	if err != nil || !b.Session || b.Issuer != p.Issuer || b.User != who.Name || !strings.HasPrefix(text, b.Prefix()) {
		t.Errorf("%+v %v", b, err)
	}
}

// TestStolenAnswers: an answer that does not belong to the attempt of the browser is refused.
func TestStolenAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *fakeoidc.Provider, p *access.Provider, a *access.Attempt, answer url.Values)
		why    string
	}{
		"another state": {func(_ *fakeoidc.Provider, _ *access.Provider, a *access.Attempt, _ url.Values) {
			a.State = strings.Repeat("x", len(a.State))
		}, "another sign-in"},
		"no state": {func(_ *fakeoidc.Provider, _ *access.Provider, _ *access.Attempt, answer url.Values) {
			answer.Del("state")
		}, "another sign-in"},
		"another nonce": {func(_ *fakeoidc.Provider, _ *access.Provider, a *access.Attempt, _ url.Values) {
			a.Nonce = strings.Repeat("x", len(a.Nonce))
		}, "another sign-in"},
		"another verifier": {func(_ *fakeoidc.Provider, _ *access.Provider, a *access.Attempt, _ url.Values) {
			a.Verifier = strings.Repeat("x", len(a.Verifier))
		}, "invalid_grant"},
		"another provider": {func(_ *fakeoidc.Provider, _ *access.Provider, _ *access.Attempt, answer url.Values) {
			answer.Set("iss", "https://elsewhere.example.org")
		}, "another provider"},
		"a refusal": {func(_ *fakeoidc.Provider, _ *access.Provider, _ *access.Attempt, answer url.Values) {
			answer.Set("error", "access_denied")
		}, `"access_denied"`},
		"another code": {func(_ *fakeoidc.Provider, _ *access.Provider, _ *access.Attempt, answer url.Values) {
			answer.Set("code", "guessed")
		}, "invalid_grant"},
		"no role": {func(f *fakeoidc.Provider, _ *access.Provider, _ *access.Attempt, _ url.Values) {
			f.Claims["groups"] = []string{"sales"}
		}, "no rule"},
		"an email that is not verified": {func(f *fakeoidc.Provider, _ *access.Provider, _ *access.Attempt, _ url.Values) {
			f.Claims["email_verified"] = false
		}, "credentials are invalid"},
		"a wrong secret": {func(_ *fakeoidc.Provider, p *access.Provider, _ *access.Attempt, _ url.Values) {
			p.Secret = "wrong"
		}, "invalid_client"},
	} {
		f, p := relying(t)
		a, answer := begin(t, p)
		c.change(f, p, &a, answer)
		_, err := p.SignIn(t.Context(), a, callback, answer, time.Now())
		if !errors.Is(err, fleet.ErrDenied) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttempts: only the text of an attempt is one.
func TestAttempts(t *testing.T) {
	long := strings.Repeat("a", 30)
	for _, text := range []string{"", "..", long, long + "." + long, long + "." + long + ".", long + ".." + long,
		long + "." + long + "." + strings.Repeat("a", 200)} {
		if a, ok := access.ParseAttempt(text); ok {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

// TestProviderWithoutBrowsers: a provider that issues only tokens for programs signs no browser in.
func TestProviderWithoutBrowsers(t *testing.T) {
	f := newProvider(t)
	p := &access.Provider{Issuer: f.server.URL, Client: "hub", HTTP: f.server.Client()}
	if _, _, err := p.SignInURL(t.Context(), callback, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "signs no browsers in") {
		t.Error(err)
	}
}

// TestProviderSessions: a session has the roles of the sign-in while its provider is used and the user is not locked
// out. A user of the store adds only groups.
func TestProviderSessions(t *testing.T) {
	d := newDoor(t)
	p := &access.Provider{Issuer: "https://accounts.example.org", Client: "hub"}
	text, b, err := p.NewSession(access.NewPrincipal("ann@example.org", "oidc", access.Operator), d.now)
	if err != nil {
		t.Fatal(err)
	}
	d.put(access.BearerKey(b.ID), b)
	ask := func() (access.Principal, error) { return d.ask("Bearer " + text) }
	refused := func(what string) {
		t.Helper()
		if who, err := ask(); !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("%s: %v %v", what, who, err)
		}
	}
	refused("without a provider")
	d.gate.OIDC = &access.Provider{Issuer: "https://elsewhere.example.org", Client: "hub"}
	refused("with another provider")
	d.gate.OIDC = p
	who, err := ask()
	if err != nil || who.Name != "ann@example.org" || !who.Session || who.Login != b.ID || !who.May(access.Operate) ||
		who.May(access.Approve) || !who.Expires.Equal(d.now.Add(access.SessionLife)) {
		t.Errorf("%+v %v", who, err)
	}
	d.put(access.UserKey(who.Name), access.User{Name: who.Name, Roles: []access.Role{access.Admins},
		Groups: []string{"dba"}})
	if who, err = ask(); err != nil || who.May(access.Admin) || !slices.Contains(who.Groups(), "dba") {
		t.Errorf("%+v %v", who, err)
	}
	d.put(access.UserKey(who.Name), access.User{Name: who.Name, Locked: true})
	refused("locked out")
	d.put(access.UserKey(who.Name), access.User{Name: who.Name})
	d.now = d.now.Add(access.SessionLife)
	refused("at the end")
}
