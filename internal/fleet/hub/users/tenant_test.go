package users

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

func caller(name string, of fleet.Organization) api.Caller {
	c := api.Caller{Principal: access.NewPrincipal(name, "test", access.Admins)}
	c.Organization = of
	return c
}

func textOf(err error) string {
	if r, ok := errors.AsType[*api.Refusal](err); ok {
		return r.Why + "|" + r.Hint
	}
	return ""
}

// TestUsersOfOrganizations: an admin of an organization manages only users of it and below. Other users do not exist:
// the answers are as for a name that was never used, except that a used name cannot be created.
func TestUsersOfOrganizations(t *testing.T) {
	b := newBrowsers(t)
	a := b.hubs[0].Accounts
	set := func(by api.Caller, name string, of *string, groups ...string) error {
		_, err := a.SetUser(t.Context(), by, document.UserRequest{Name: name, Roles: []string{"admin"}, Organization: of,
			Groups: groups})
		return err
	}
	path := func(s string) *string { return &s }
	root, acme := caller("root", ""), caller("ann", "acme")
	for name, of := range map[string]string{"ann": "acme", "bob": "acme/search", "eve": "globex", "al": "acme2"} {
		if err := set(root, name, path(of)); err != nil {
			t.Fatal(err)
		}
	}
	names := func(by api.Caller) string {
		page, err := a.Users(t.Context(), by, route.None{}, route.None{})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, u := range page.Users {
			out = append(out, u.Name)
		}
		return strings.Join(out, " ")
	}
	if got := names(acme); got != "ann bob" {
		t.Errorf("acme has %s", got)
	}
	if got := names(root); got != "al ann bob eve kim" {
		t.Errorf("the fleet has %s", got)
	}
	before := texts(t, b.store)
	for what, err := range map[string]error{
		"another's user": set(acme, "eve", nil), "a user of the fleet": set(acme, "kim", path("acme")),
		"another organization": set(acme, "new", path("globex")), "the fleet": set(acme, "new", path("")),
		"a longer name": set(acme, "new", path("acme2")), "the parent": set(caller("bob", "acme/search"), "ann", nil),
		"moving a user away": set(acme, "bob", path("globex")), "groups": set(acme, "new", nil, "dba"),
		"a wrong path": set(root, "new", path("acme/")),
	} {
		if textOf(err) == "" || strings.Contains(textOf(err), "globex") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := texts(t, b.store); after != before {
		t.Errorf("a refused request changed the store:\n%s\n%s", before, after)
	}
	// The answers about a user of another organization are those about an unused name.
	for _, other := range []string{"eve", "kim", "al"} {
		for what, ask := range map[string]func(name string) error{
			"logins": func(name string) error {
				_, err := a.Logins(t.Context(), acme, route.UserName{User: name}, route.None{})
				return err
			},
			"login": func(name string) error {
				_, err := a.CreateLogin(t.Context(), acme, route.UserName{User: name}, document.LoginRequest{})
				return err
			},
			"web login": func(name string) error {
				_, err := a.CreateWebLogin(t.Context(), acme, document.WebLoginRequest{User: name})
				return err
			},
			"revoke": func(name string) error {
				return a.RevokeLogin(t.Context(), acme, route.LoginID{User: name, Login: "fettle-api-x"},
					document.ReasonRequest{})
			},
		} {
			got, want := textOf(ask(other)), strings.ReplaceAll(textOf(ask("zoe")), "zoe", other)
			if got != want || got == "" {
				t.Errorf("%s of %s: %q, want %q", what, other, got, want)
			}
		}
	}
	if err := set(acme, "new", nil); err != nil || names(acme) != "ann bob new" {
		t.Errorf("%v, %s", err, names(acme))
	}
	if err := set(root, "bob", nil); err != nil || names(acme) != "ann bob new" {
		t.Errorf("a change without an organization moves the user: %v, %s", err, names(acme))
	}
}

// TestLoginsOfOrganizations: an admin of an organization creates and revokes logins of its users. After a user is
// moved, the previous organization has none of the logins, and the new one sees none of them.
func TestLoginsOfOrganizations(t *testing.T) {
	b := newBrowsers(t)
	a := b.hubs[0].Accounts
	root, acme := caller("root", ""), caller("ann", "acme")
	acmePath, globex := "acme", "globex"
	user := document.UserRequest{Name: "bob", Roles: []string{"read"}, Organization: &acmePath}
	if _, err := a.SetUser(t.Context(), root, user); err != nil {
		t.Fatal(err)
	}
	at := route.UserName{User: "bob"}
	login, err := a.CreateLogin(t.Context(), acme, at, document.LoginRequest{Note: "marker"})
	if err != nil {
		t.Fatal(err)
	}
	who, err := b.hubs[1].Authenticate(request(login.Secret))
	if err != nil || who.Organization != "acme" {
		t.Fatalf("%+v, %v", who, err)
	}
	user.Organization = &globex
	if _, err := a.SetUser(t.Context(), root, user); err != nil {
		t.Fatal(err)
	}
	if who, err := b.hubs[1].Authenticate(request(login.Secret)); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a login of the previous organization is valid: %+v, %v", who, err)
	}
	user.Organization = &acmePath // and back
	if _, err := a.SetUser(t.Context(), root, user); err != nil {
		t.Fatal(err)
	}
	if who, err := b.hubs[1].Authenticate(request(login.Secret)); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a login from before two moves is valid again: %+v, %v", who, err)
	}
	if again, err := a.CreateLogin(t.Context(), acme, at, document.LoginRequest{}); err != nil {
		t.Fatal(err)
	} else if who, err := b.hubs[1].Authenticate(request(again.Secret)); err != nil || who.Organization != "acme" {
		t.Errorf("a login from after the moves: %+v, %v", who, err)
	}
	user.Organization = &globex
	if _, err := a.SetUser(t.Context(), root, user); err != nil {
		t.Fatal(err)
	}
	page, err := a.Logins(t.Context(), caller("eve", "globex"), at, route.None{})
	if err != nil || len(page.Logins) != 0 {
		t.Errorf("the new organization sees %+v, %v", page, err)
	}
	err = a.RevokeLogin(t.Context(), caller("eve", "globex"), route.LoginID{User: "bob", Login: login.ID},
		document.ReasonRequest{})
	if textOf(err) == "" {
		t.Errorf("the new organization revoked a login of before: %v", err)
	}
}

// TestTokensOfOrganizations: targets of a token of an organization need the approval of an operator, and the token has
// no labels, because names and labels select modules and secrets. Tokens of other organizations do not exist.
func TestTokensOfOrganizations(t *testing.T) {
	tokens := bustest.NewStore()
	b := newBrowsers(t)
	a := b.hubs[0].Accounts
	a.Records.Tokens = records.NewLastKnown(tokens, func() error { return nil })
	a.Records.Buckets["tokens"] = tokens
	for id, of := range map[string]fleet.Organization{"fleet": "", "acme": "acme", "search": "acme/search",
		"globex": "globex"} {
		text, err := json.Marshal(pki.StoredToken{ID: id, Terms: pki.Terms{Organization: of, Expires: b.now.Unix() + 60}})
		if err == nil {
			_, err = tokens.Put(t.Context(), id, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	acme := caller("ann", "acme")
	page, err := a.Tokens(t.Context(), acme, route.None{}, route.None{})
	if err != nil || len(page.Tokens) != 2 || page.Tokens[0].ID != "acme" || page.Tokens[1].ID != "search" {
		t.Errorf("%+v, %v", page, err)
	}
	revoke := func(id string) error {
		return a.RevokeToken(t.Context(), acme, route.TokenID{Token: id}, document.ReasonRequest{})
	}
	for _, id := range []string{"fleet", "globex"} {
		if got, want := textOf(revoke(id)), strings.ReplaceAll(textOf(revoke("never")), "never", id); got != want ||
			got == "" {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if err := revoke("search"); err != nil {
		t.Error(err)
	}
	for what, r := range map[string]document.TokenRequest{"labels": {Labels: map[string]string{"role": "db"}},
		"a hub": {Hub: true}, "another organization": {Organization: "globex"}, "a longer name": {Organization: "acme2"}} {
		if _, err := a.CreateToken(t.Context(), acme, r); textOf(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := document.TokenRequest{}
	if err := checkTenantToken(acme, "acme/search", &r); err != nil || !r.Approve {
		t.Errorf("%+v, %v", r, err)
	}
	r = document.TokenRequest{Labels: map[string]string{"role": "db"}}
	if err := checkTenantToken(caller("root", ""), "acme", &r); err != nil || r.Approve {
		t.Errorf("a token of an operator: %+v, %v", r, err)
	}
}

// texts returns the content of a store.
func texts(t *testing.T, s fleet.Store) string {
	t.Helper()
	all, err := s.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range all {
		out.WriteString(e.Key + " " + string(e.Value) + "\n")
	}
	return out.String()
}
