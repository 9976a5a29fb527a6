package assign_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// TestFreezesOfOrganizations: the freezes of an organization and of those that contain it are a union. Users order them
// at a hub, and the repository declares them. Other organizations are not frozen.
func TestFreezesOfOrganizations(t *testing.T) {
	g := newGuarded(t, 5, "top=1", "web=1@role=a")
	for i, o := range []fleet.Organization{"", "acme", "acme/search", "acme2", "other"} {
		g.fold(assign.Event{Kind: assign.TargetEvent, Key: string(idOf(nameOf(i))), Target: &fleet.Target{
			ID: idOf(nameOf(i)), Name: nameOf(i), Standing: fleet.Active, Labels: map[string]string{"role": "a"},
			Organization: o}})
	}
	frozen := map[fleet.TargetID]string{}
	expect := func(what string, want ...string) {
		t.Helper()
		for _, a := range g.compute().Assignments {
			frozen[a.Target] = a.Frozen
		}
		for i, why := range want {
			if got := frozen[idOf(nameOf(i))]; got != why {
				t.Errorf("%s: %s is frozen with %q, want %q", what, nameOf(i), got, why)
			}
		}
	}
	order := func(o fleet.Organization, f *assign.Freeze) {
		key := assign.OrganizationKey(o)
		if f != nil {
			f.Key, f.Organization, f.Targets = key, o, []fleet.TargetID{fleet.TargetID(key)}
		}
		g.fold(assign.Event{Kind: assign.FreezeEvent, Key: key, Freeze: f})
	}
	limits := func(all ...fleet.Limits) {
		g.w.limits = all
		g.fold(assign.Event{Kind: assign.LimitsEvent, Key: assign.LimitsKey, Limits: &all})
	}
	expect("at first", "", "", "", "", "")
	order("acme", &assign.Freeze{Reason: "a feast", By: "ann"})
	const feast = "the organization acme is frozen: a feast (ann)"
	expect("acme", "", feast, feast, "", "")
	order("acme/search", &assign.Freeze{Reason: "tests"})
	expect("the first of the path", "", feast, feast, "", "")
	order("acme", nil)
	const tests = "the organization acme/search is frozen: tests"
	expect("only search", "", "", tests, "", "")
	limits(fleet.Limits{Organization: "acme", Freeze: "audit"}, fleet.Limits{Organization: "other", Approvals: 2})
	const audit = "the organization acme is frozen: audit (the repository)"
	expect("the repository", "", audit, audit, "", "")
	g.push("main", "broken")
	expect("an unusable head", "", audit, audit, "", "")
	limits()
	g.push("main", "top=1", "web=1@role=a")
	expect("a head without limits", "", "", tests, "", "")
	all := assign.Freeze{Key: assign.AllKey, Reason: "stop"}
	g.fold(assign.Event{Kind: assign.FreezeEvent, Key: all.Key, Freeze: &all})
	expect("the fleet", "stop", "stop", "stop", "stop", "stop")
}
