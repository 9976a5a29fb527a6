package access_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// TestLoginsEndWithTheOrganization: a token is only valid while its user is in the organization of its creation. It is
// not valid again after the user returned.
func TestLoginsEndWithTheOrganization(t *testing.T) {
	for _, session := range []bool{false, true} {
		for _, c := range []struct {
			then, now fleet.Organization
			moves     int
			valid     bool
		}{{"", "", 0, true}, {"acme", "acme", 0, true}, {"", "acme", 0, false}, {"acme", "", 0, false},
			{"acme", "acme/search", 0, false}, {"acme", "globex", 0, false}, {"acme", "acme", 2, false}, {"", "", 2, false}} {
			d := newDoor(t)
			ada := access.User{Name: "ada", Roles: []access.Role{access.Admins}, Organization: c.then}
			d.put(access.UserKey("ada"), ada)
			text, b, err := access.NewBearer("ada", ada.Roles, time.Hour, "root", "", d.now)
			if err != nil {
				t.Fatal(err)
			}
			b.Organization = c.then
			d.put(access.BearerKey(b.ID), b)
			if session {
				text, b = d.session(ada, access.NewPrincipal("ada", "test", access.Admins))
			}
			ada.Organization, ada.Moves = c.now, c.moves
			d.put(access.UserKey("ada"), ada)
			who, err := d.ask("Bearer " + text)
			if (err == nil) != c.valid || c.valid && (who.Organization != c.now || !who.May(access.Admin)) ||
				!c.valid && !errors.Is(err, fleet.ErrDenied) {
				t.Errorf("%+v, a session %v: %+v, %v", c, session, who, err)
			}
		}
	}
}

// TestOlderHubsGiveNoRights: in the record of a user or token of an organization, a hub without organizations finds no
// roles. The roles of other records are where they were.
func TestOlderHubsGiveNoRights(t *testing.T) {
	roles := []access.Role{access.Admins}
	for _, v := range []any{access.User{Name: "ada", Roles: roles}, access.Bearer{User: "ada", Roles: roles},
		access.User{Name: "ada", Roles: roles, Organization: "acme"},
		access.Bearer{User: "ada", Roles: roles, Organization: "acme"}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var old struct {
			Roles []access.Role `json:"roles"`
		}
		if err := json.Unmarshal(text, &old); err != nil {
			t.Fatal(err)
		}
		if within := strings.Contains(string(text), "acme"); within != (len(old.Roles) == 0) {
			t.Errorf("%s gives %v", text, old.Roles)
		}
		var again []access.Role
		if _, is := v.(access.User); is {
			var u access.User
			err = json.Unmarshal(text, &u)
			again = u.Roles
		} else {
			var b access.Bearer
			err = json.Unmarshal(text, &b)
			again = b.Roles
		}
		if err != nil || len(again) != 1 || again[0] != access.Admins {
			t.Errorf("%s: %v, %v", text, again, err)
		}
	}
	var u access.User // a hub without organizations changed the roles
	err := json.Unmarshal([]byte(
		`{"name":"ada","roles":["admin"],"organization":"acme","organization_roles":["read"]}`), &u)
	if err != nil || len(u.Roles) != 1 || u.Roles[0] != access.Reader {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestOrganizationsOfProviders: rules give roles in one organization. An organization in the store limits it further,
// and another one refuses the user.
func TestOrganizationsOfProviders(t *testing.T) {
	rules := []access.Rule{{Claim: "groups", Value: "ops", Role: access.Operator, Organization: "acme"},
		{Claim: "groups", Value: "acme-admins", Role: access.Approver, Organization: "acme"},
		{Claim: "groups", Value: "fleet", Role: access.Admins}}
	for _, c := range []struct {
		groups []any
		stored fleet.Organization
		known  bool
		want   fleet.Organization
		denied bool
	}{
		{groups: []any{"ops"}, want: "acme"},
		{groups: []any{"ops", "acme-admins"}, want: "acme"},
		{groups: []any{"fleet"}, want: ""},
		{groups: []any{"ops", "fleet"}, denied: true},
		{groups: []any{"ops"}, known: true, stored: "acme/search", want: "acme/search"},
		{groups: []any{"fleet"}, known: true, stored: "acme/search", want: "acme/search"},
		{groups: []any{"ops"}, known: true, want: "acme"},
		{groups: []any{"ops"}, known: true, stored: "globex", denied: true},
	} {
		d, p := newDoor(t), newProvider(t)
		p.gate(d).Rules = rules
		if c.known {
			d.put(access.UserKey("ada@example.org"), access.User{Name: "ada@example.org", Organization: c.stored})
		}
		who, err := d.ask("Bearer " + p.signed(object{"alg": "ES256", "kid": "e1"},
			p.claims(object{"groups": c.groups}), p.byEC))
		if c.denied != errors.Is(err, fleet.ErrDenied) || !c.denied && (err != nil || who.Organization != c.want) {
			t.Errorf("%+v: %+v, %v", c, who, err)
		}
		if err != nil && (strings.Contains(err.Error(), "globex") || strings.Contains(err.Error(), "acme")) {
			t.Errorf("%+v: the error names an organization: %v", c, err)
		}
	}
}
