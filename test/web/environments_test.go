package web

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/hubs"
)

// environments declares two environments.
const environments = `target_group "web" {
  labels  = { role = "web" }
  modules = ["base", "web"]
}
environment "production" {
  labels = { env = "prod" }
  domain = "example.org"
}
environment "staging" {
  labels = { env = "test" }
  parent = "production"
}
policy { rollout = "at-once" }
`

// TestEnvironments: an open page about environments of a real hub shows a new environment of a branch, a new rule, and
// the end of the environment.
func TestEnvironments(t *testing.T) {
	f, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Commit(t.Context(), "Declare environments", map[string]string{"fettle.hcl": environments}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Branch("fix-7", "Fix it",
		map[string]string{"modules/base/module.hcl": "directory \"/srv/fix\" {}\n"}); err != nil {
		t.Fatal(err)
	}
	admin, err := f.Client(t.Context(), "ann", "admin")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, admin, f.Time)
	b.visit("/environments")
	b.until("both environments", "document.querySelectorAll('tbody tr').length === 2")
	b.until("their values", oneLine+".includes('staging.example.org') && "+oneLine+".includes('No rule creates')")
	if _, err := client.Post(t.Context(), admin, route.CreateEnvironment(), document.EnvironmentRequest{Name: "review-7",
		Parent: "staging", Branch: "fix-7", Select: []string{"web2"}, For: 3600e9, Reason: "<b>look</b>"}); err != nil {
		t.Fatal(err)
	}
	b.until("the environment", oneLine+".includes('review-7.staging.example.org') && "+
		oneLine+".includes('<b>look</b> by ann')")
	b.until("its commit", "document.querySelector('td a[href^=\"/commits/\"]') !== null")
	if _, err := client.Post(t.Context(), admin, route.FollowBranches(), document.EnvironmentRuleRequest{Name: "fix",
		Branches: "fix-*", Parent: "staging", Select: []string{"web2"}, Each: 1, Max: 5}); err != nil {
		t.Fatal(err)
	}
	b.until("the branch that waits", oneLine+".includes('fix-7: it needs 1 target, and 0 of the rule are free')")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.accessible("environments in " + scheme)
	}
	b.shows("/targets/web2", "Environment", "review-7")
	b.click("dd a[href='/scopes/environment/review-7']")
	b.until("its scope", "location.pathname === '/scopes/environment/review-7'")
	b.visit("/environments")
	if _, err := client.Call(t.Context(), admin, route.RemoveEnvironment(),
		route.EnvironmentName{Environment: "review-7"}, document.ReasonRequest{Reason: "merged"}); err != nil {
		t.Fatal(err)
	}
	b.until("its end", "document.querySelectorAll('table')[0].querySelectorAll('tbody tr').length === 2")
	b.quiet()
}
