package hub_test

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestMembersComeAndGo: labels decide at any time which targets a declared environment has. An environment of a branch
// keeps the targets that were selected at its creation. The target shows its environment.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newStaged(t)
	ann := w.user("ann", "admin")
	label := func(target, env string) {
		t.Helper()
		if _, err := client.Call(t.Context(), ann, route.LabelTarget(), route.TargetName{Target: target},
			document.LabelRequest{Set: map[string]string{"env": env}}); err != nil {
			t.Fatal(err)
		}
	}
	in := func(target, want string) {
		t.Helper()
		until(t, target+" is in "+want, func() (d document.TargetDetail, _ bool) {
			w.ask("GET", "/v1/targets/"+target, nil, &d)
			return d, d.Environment == want
		})
	}
	in("st-1", "staging")
	in("prod-1", "production")
	label("prod-1", "staging")
	w.members(ann, "staging prod-1 st-1 st-2")
	in("prod-1", "staging")
	if _, err := client.Post(t.Context(), ann, route.CreateEnvironment(), document.EnvironmentRequest{Name: "review-7",
		Parent: "staging", Branch: "fix-7", Select: []string{"label:env=staging"}, For: int64(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	w.members(ann, "review-7 prod-1 st-1 st-2", "staging")
	in("prod-1", "review-7")
	label("prod-1", "production")
	w.assigned("prod-1", "fix-7", "fix-7")
	in("prod-1", "review-7")
	if _, err := client.Call(t.Context(), ann, route.RetireTarget(), route.TargetName{Target: "st-1"},
		document.ReasonRequest{Reason: "sold"}); err != nil {
		t.Fatal(err)
	}
	w.members(ann, "review-7 prod-1 st-2", "staging")
	d, err := client.GetAt(t.Context(), ann, route.Environment(), route.EnvironmentName{Environment: "review-7"})
	absent := ""
	for _, m := range d.Members {
		absent += m.Name + " " + m.Absent + "\n"
	}
	if want := "prod-1 \nst-1 retired\nst-2 \n"; err != nil || absent != want {
		t.Errorf("the members are %q %v, want %q", absent, err, want)
	}
	if _, err := client.Call(t.Context(), ann, route.RemoveEnvironment(), route.EnvironmentName{Environment: "review-7"},
		document.ReasonRequest{}); err != nil {
		t.Fatal(err)
	}
	in("prod-1", "production")
	in("st-2", "staging")
	var explained document.TargetDetail
	if w.ask("GET", "/v1/targets/st-2", nil, &explained); explained.Element != nil ||
		!strings.Contains(strings.Join(explained.Serves["groups"], " "), "web") {
		t.Errorf("%+v", explained)
	}
}

// TestChecksOfBranches: an environment of a branch has the check of its parent with branches = true. The assignment of
// the target that tests it from outside names the environment, and has otherwise the same content.
func TestChecksOfBranches(t *testing.T) {
	t.Parallel()
	w := newStagedWith(t, strings.Replace(stagedConfig, `  domain = "staging.example.org"
`, `  domain = "staging.example.org"
  check "shop" {
    http     = "http://${environment.domain}/"
    from     = ["prod-1"]
    branches = true
  }
`, 1))
	ann := w.user("ann", "operate")
	before := w.assigned("prod-1", "main", "main")
	tests := func(want ...fleet.Environment) fleet.Assignment {
		t.Helper()
		return until(t, "the environments of the target outside", func() (a fleet.Assignment, _ bool) {
			a = w.assigned("prod-1", "main", "main")
			return a, fleet.SameEnvironments(a.TestsFor, want)
		})
	}
	tests()
	if _, err := client.Post(t.Context(), ann, route.CreateEnvironment(), document.EnvironmentRequest{Name: "review-7",
		Parent: "staging", Branch: "fix-7", Select: []string{"st-2"}, For: int64(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	tests(fleet.Environment{Name: "review-7", Parent: "staging"})
	if a := w.assigned("st-2", "fix-7", "fix-7"); len(a.TestsFor) > 0 {
		t.Errorf("a member tests checks from outside: %+v", a.TestsFor)
	}
	at := route.ScopeID{Kind: "environment", Scope: "review-7"}
	until(t, "the check", func() (d document.ScopeDetail, _ bool) {
		d, err := client.GetAt(t.Context(), ann, route.Scope(), at)
		return d, err == nil && len(d.Checks) == 1 && d.Checks[0].Name == "shop" && len(d.Checks[0].Testers) == 1 &&
			d.Checks[0].Testers[0].Name == "prod-1" && d.Scope.Parent == "staging" &&
			d.Scope.Domain == "review-7.staging.example.org"
	})
	if _, err := client.Call(t.Context(), ann, route.RemoveEnvironment(), route.EnvironmentName{Environment: "review-7"},
		document.ReasonRequest{}); err != nil {
		t.Fatal(err)
	}
	after := tests()
	if before.Generation, before.Issued = after.Generation, after.Issued; !after.Same(before) {
		t.Errorf("the target outside has\n%+v\nand had\n%+v", after, before)
	}
}
