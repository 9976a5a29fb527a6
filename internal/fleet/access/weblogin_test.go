package access_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// session puts the session of a new link into the store, and returns its secret and its record.
func (d *door) session(user access.User, by access.Principal) (string, access.Bearer) {
	d.t.Helper()
	_, w := access.NewWebLogin(user, by, d.now)
	text, b, err := w.NewSession(d.now)
	if err != nil {
		d.t.Fatal(err)
	}
	d.put(access.BearerKey(b.ID), b)
	return text, b
}

// A session has at most the rights of its creator, of its user at the time of the link, and of its user now.
func TestRightsOfSessions(t *testing.T) {
	all := []access.Role{access.Admins}
	for name, c := range map[string]struct {
		creator, then, now, want []access.Role
	}{
		"all":       {all, all, all, all},
		"creator":   {[]access.Role{access.Reader}, all, all, []access.Role{access.Reader}},
		"user then": {all, []access.Role{access.Approver}, all, []access.Role{access.Approver}},
		"user now":  {all, all, []access.Role{access.Operator}, []access.Role{access.Operator}},
		"two roles": {[]access.Role{access.Operator, access.Approver}, all, all,
			[]access.Role{access.Operator, access.Approver}},
		"different": {[]access.Role{access.Operator}, []access.Role{access.Approver}, all, []access.Role{access.Reader}},
	} {
		d := newDoor(t)
		d.user("ada", c.now...)
		text, _ := d.session(access.User{Name: "ada", Roles: c.then}, access.NewPrincipal("ada", "test", c.creator...))
		who, err := d.ask("Bearer " + text)
		want := access.NewPrincipal("", "", c.want...).Rights()
		if err != nil || !slices.Equal(who.Rights(), want) {
			t.Errorf("%s: %v, %v, want %v", name, who.Rights(), err, want)
		}
	}
}

// A session ends with the token of its creator: by its time, by a revocation, and if it is missing.
func TestSessionsEndWithTheirOrigin(t *testing.T) {
	d := newDoor(t)
	d.user("ada", access.Operator)
	creator, err := d.ask("Bearer " + d.bearer("ada", time.Hour, access.Operator))
	if err != nil {
		t.Fatal(err)
	}
	text, b := d.session(access.User{Name: "ada", Roles: []access.Role{access.Operator}}, creator)
	if b.Expires != d.now.Add(time.Hour).Unix() {
		t.Errorf("the session of a token for an hour ends %s", time.Unix(b.Expires, 0).Sub(d.now))
	}
	who, err := d.ask("Bearer " + text)
	if err != nil || who.Login != b.ID || !who.Session || creator.Session {
		t.Fatalf("%+v, %v", who, err)
	}
	origin := access.Bearer{ID: creator.Login, User: "ada", Expires: d.now.Add(time.Hour).Unix(), Revoked: 1}
	for name, change := range map[string]func(){
		"revoked": func() { d.put(access.BearerKey(creator.Login), origin) },
		"expired": func() {
			d.put(access.BearerKey(creator.Login), access.Bearer{ID: creator.Login, User: "ada", Expires: d.now.Unix()})
		},
		"missing": func() { _ = d.users.Delete(t.Context(), access.BearerKey(creator.Login), 0) },
	} {
		change()
		if _, err := d.ask("Bearer " + text); !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without a time limit of the creator, a session lasts SessionLife. A link is valid for WebLoginLife.
func TestTimesOfWebLogins(t *testing.T) {
	d := newDoor(t)
	code, w := access.NewWebLogin(access.User{Name: "ada", Roles: []access.Role{access.Reader}},
		access.NewPrincipal("root", "socket", access.Admins), d.now)
	id, secret, ok := access.ParseWebLogin(code)
	if !ok || id != w.ID {
		t.Fatalf("%q has the ID %q", code, id)
	}
	for after, want := range map[time.Duration]bool{0: true, access.WebLoginLife - time.Second: true,
		access.WebLoginLife: false} {
		if w.Matches(secret, d.now.Add(after)) != want {
			t.Errorf("after %s the link is valid: %v", after, !want)
		}
	}
	if w.Matches(secret[:19], d.now) {
		t.Error("a part of the secret is enough")
	}
	_, b, err := w.NewSession(d.now)
	if err != nil || b.Expires != d.now.Add(access.SessionLife).Unix() || !b.Session || b.Note != "browser" {
		t.Errorf("%+v, %v", b, err)
	}
	if _, _, ok := access.ParseWebLogin(code[:len(code)-1] + "a"); ok && code[len(code)-1] != 'a' {
		t.Error("a code with a wrong sum is read")
	}
}
