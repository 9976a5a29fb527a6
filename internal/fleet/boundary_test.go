package fleet_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestBoundaries: a boundary contains the targets of its organization that a part selects. Without parts, a limited
// boundary is empty, and the zero value contains everything.
func TestBoundaries(t *testing.T) {
	a, b := fleet.TargetID(strings.Repeat("a", 26)), fleet.TargetID(strings.Repeat("b", 25)+"a")
	web := fleet.Target{ID: a, Organization: "acme/search", Labels: map[string]string{"env": "prod", "role": "web"}}
	labels := func(l ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(l); i += 2 {
			out[l[i]] = l[i+1]
		}
		return out
	}
	for _, c := range []struct {
		name     string
		b        fleet.Boundary
		contains bool
	}{
		{"everything", fleet.Boundary{}, true},
		{"the organization above", fleet.Boundary{Organization: "acme"}, true},
		{"another organization", fleet.Boundary{Organization: "acme2"}, false},
		{"no part", fleet.Boundary{Limited: true}, false},
		{"the fleet as a part", fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{{}}}, true},
		{"a label", fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{{Labels: labels("env", "prod")}}}, true},
		{"another value", fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{{Labels: labels("env", "dev")}}}, false},
		{"one of two labels", fleet.Boundary{Limited: true,
			Parts: []fleet.TargetFilter{{Labels: labels("env", "prod", "role", "db")}}}, false},
		{"an absent label", fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{{Labels: labels("tier", "")}}}, false},
		{"the second part", fleet.Boundary{Limited: true,
			Parts: []fleet.TargetFilter{{Organization: "globex"}, {Targets: []fleet.TargetID{b, a}}}}, true},
		{"another target", fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{{Targets: []fleet.TargetID{b}}}}, false},
		{"a part outside of the organization", fleet.Boundary{Organization: "globex", Limited: true,
			Parts: []fleet.TargetFilter{{Labels: labels("env", "prod")}}}, false},
		{"the organization below", fleet.Boundary{Limited: true,
			Parts: []fleet.TargetFilter{{Organization: "acme/search/x"}}}, false},
	} {
		if c.b.Contains(web) != c.contains {
			t.Errorf("%s: %v", c.name, !c.contains)
		}
		if got := fleet.BoundaryOf(fleet.WithBoundary(context.Background(), c.b)); !got.Equal(c.b) {
			t.Errorf("%s: the context has %+v", c.name, got)
		}
		if c.b.All() != (c.name == "everything") {
			t.Errorf("%s: All is %v", c.name, c.b.All())
		}
	}
	if !fleet.BoundaryOf(context.Background()).All() {
		t.Error("a context of the hub is limited")
	}
}

// TestTargetFilters: the order of targets does not matter, and wrong labels, paths and identities are errors.
func TestTargetFilters(t *testing.T) {
	a, b := fleet.TargetID(strings.Repeat("a", 26)), fleet.TargetID(strings.Repeat("b", 25)+"a")
	one := fleet.TargetFilter{Labels: map[string]string{"env": "prod"}, Targets: []fleet.TargetID{a, b}}
	other := fleet.TargetFilter{Labels: map[string]string{"env": "prod"}, Targets: []fleet.TargetID{b, a, a}}
	if !one.Equal(other) || one.Equal(fleet.TargetFilter{Labels: one.Labels, Targets: one.Targets[:1]}) ||
		one.Equal(fleet.TargetFilter{Targets: one.Targets}) ||
		one.Equal(fleet.TargetFilter{Organization: "acme", Labels: one.Labels, Targets: one.Targets}) {
		t.Error("Equal is wrong")
	}
	many := make([]fleet.TargetID, 201)
	for i := range many {
		many[i] = a
	}
	for what, c := range map[string]struct {
		f     fleet.TargetFilter
		valid bool
	}{"two targets": {one, true}, "nothing": {fleet.TargetFilter{}, true},
		"a path":              {fleet.TargetFilter{Organization: "acme/"}, false},
		"a label":             {fleet.TargetFilter{Labels: map[string]string{"a b": ""}}, false},
		"a name":              {fleet.TargetFilter{Targets: []fleet.TargetID{"web1"}}, false},
		"too many identities": {fleet.TargetFilter{Targets: many}, false}} {
		if err := c.f.Check(); (err == nil) != c.valid {
			t.Errorf("%s: %v", what, err)
		}
	}
}
