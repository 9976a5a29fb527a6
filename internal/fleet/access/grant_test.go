package access_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// TestRightsOfGrants: grants add rights for some targets, limited by the roles of the login. They never add a right for
// the whole organization.
func TestRightsOfGrants(t *testing.T) {
	prod := fleet.TargetFilter{Labels: map[string]string{"env": "prod"}}
	search := fleet.TargetFilter{Organization: "acme/search"}
	for _, c := range []struct {
		name          string
		roles, login  []access.Role
		grants        []access.Grant
		whole, some   string // rights
		read, operate fleet.Boundary
	}{
		{name: "a role and a grant", roles: []access.Role{access.Reader},
			login:  []access.Role{access.Reader, access.Operator},
			grants: []access.Grant{{Role: access.Operator, TargetFilter: prod}}, whole: "read", some: "read operate",
			operate: fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{prod}}},
		{name: "only grants", login: []access.Role{access.Reader, access.Operator},
			grants: []access.Grant{{Role: access.Operator, TargetFilter: prod}, {Role: access.Reader, TargetFilter: search}},
			some:   "read operate", read: fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{prod, search}},
			operate: fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{prod}}},
		{name: "a login for readers", login: []access.Role{access.Reader},
			grants: []access.Grant{{Role: access.Operator, TargetFilter: prod}}, some: "read",
			read: fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{prod}}, operate: fleet.Boundary{Limited: true}},
		{name: "a role", roles: []access.Role{access.Operator}, login: []access.Role{access.Operator},
			grants: []access.Grant{{Role: access.Reader, TargetFilter: prod}}, whole: "read operate", some: "read operate"},
		{name: "nothing", login: []access.Role{access.Admins}, read: fleet.Boundary{Limited: true},
			operate: fleet.Boundary{Limited: true}},
	} {
		d := newDoor(t)
		d.put(access.UserKey("ada"), access.User{Name: "ada", Roles: c.roles, Organization: "acme", Grants: c.grants})
		text, b, err := access.NewBearer("ada", c.login, time.Hour, "root", "", d.now)
		if err != nil {
			t.Fatal(err)
		}
		b.Organization = "acme"
		d.put(access.BearerKey(b.ID), b)
		who, err := d.ask("Bearer " + text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var whole, some []string
		for _, r := range []access.Right{access.Read, access.Operate, access.Approve, access.Admin} {
			if who.May(r) {
				whole = append(whole, string(r))
			}
			if who.MayOnSome(r) {
				some = append(some, string(r))
			}
		}
		c.read.Organization, c.operate.Organization = "acme", "acme"
		if strings.Join(whole, " ") != c.whole || strings.Join(some, " ") != c.some {
			t.Errorf("%s: the rights are %q, and %q for some targets", c.name, whole, some)
		}
		if r, o := who.Boundary(access.Read), who.Boundary(access.Operate); !r.Equal(c.read) || !o.Equal(c.operate) {
			t.Errorf("%s: the boundaries are %+v and %+v", c.name, r, o)
		}
		if b := who.Boundary(access.Admin); len(b.Parts) > 0 || !b.Limited {
			t.Errorf("%s: the boundary for admins is %+v", c.name, b)
		}
	}
}

// TestWhichGrantsAreValid: only read and operate can be granted, within the organization of the user, with a selection.
func TestWhichGrantsAreValid(t *testing.T) {
	labels := map[string]string{"env": "prod"}
	grant := func(r access.Role, of fleet.Organization, labels map[string]string) access.Grant {
		return access.Grant{Role: r, TargetFilter: fleet.TargetFilter{Organization: of, Labels: labels}}
	}
	for what, c := range map[string]struct {
		of    fleet.Organization
		g     access.Grant
		valid bool
	}{
		"labels":                 {"acme", grant("operate", "acme", labels), true},
		"an organization below":  {"acme", grant("read", "acme/x", nil), true},
		"labels in the fleet":    {"", grant("read", "", labels), true},
		"an organization":        {"", grant("read", "acme", nil), true},
		"everything":             {"", grant("read", "", nil), false},
		"the whole organization": {"acme", grant("read", "acme", nil), false},
		"the fleet":              {"acme", grant("read", "", labels), false},
		"a longer name":          {"acme", grant("read", "acme2", nil), false},
		"approve":                {"acme", grant("approve", "acme", labels), false},
		"admin":                  {"acme", grant("admin", "acme", labels), false},
		"no role":                {"acme", grant("", "acme", labels), false},
		"a wrong label":          {"acme", grant("read", "acme", map[string]string{"": "x"}), false},
	} {
		if err := c.g.Check(c.of); (err == nil) != c.valid {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestMayOn: a user of the store has a right for a target by a role or a grant, and none when locked.
func TestMayOn(t *testing.T) {
	web := fleet.Target{ID: "a", Organization: "acme", Labels: map[string]string{"env": "prod"}}
	prod := fleet.TargetFilter{Organization: "acme", Labels: map[string]string{"env": "prod"}}
	dev := fleet.TargetFilter{Organization: "acme", Labels: map[string]string{"env": "dev"}}
	for what, c := range map[string]struct {
		u   access.User
		may bool
	}{
		"a grant":              {access.User{Grants: []access.Grant{{Role: access.Operator, TargetFilter: prod}}}, true},
		"a role":               {access.User{Roles: []access.Role{access.Operator}}, true},
		"another role":         {access.User{Roles: []access.Role{access.Approver}}, false},
		"a grant to read":      {access.User{Grants: []access.Grant{{Role: access.Reader, TargetFilter: prod}}}, false},
		"a grant elsewhere":    {access.User{Grants: []access.Grant{{Role: access.Operator, TargetFilter: dev}}}, false},
		"another organization": {access.User{Organization: "globex", Roles: []access.Role{access.Operator}}, false},
		"a locked user":        {access.User{Locked: true, Roles: []access.Role{access.Operator}}, false},
		"nothing":              {access.User{}, false},
	} {
		text, err := json.Marshal(c.u)
		var u access.User
		if err == nil {
			err = json.Unmarshal(text, &u)
		}
		if err != nil || u.MayOn(access.Operate, web) != c.may {
			t.Errorf("%s: %v, %v", what, !c.may, err)
		}
	}
}
