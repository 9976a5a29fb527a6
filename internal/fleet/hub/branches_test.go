package hub_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// rule waits until a rule has these environments, separated by spaces.
func (w *staged) rule(c *client.Client, want string) document.EnvironmentRule {
	w.t.Helper()
	return until(w.t, "the environments "+want, func() (r document.EnvironmentRule, _ bool) {
		page, err := client.Get(w.t.Context(), c, route.EnvironmentRules())
		if err == nil && len(page.Rules) == 1 {
			r = page.Rules[0]
		}
		return r, r.Polled && strings.Join(r.Environments, " ") == want
	})
}

// TestEnvironmentsOfBranches: a rule creates an environment for each branch, and ends it after the branch is deleted.
func TestEnvironmentsOfBranches(t *testing.T) {
	t.Parallel()
	w := newStaged(t)
	admin, prod := w.user("ann", "admin"), w.envelope("prod-1")
	r := document.EnvironmentRuleRequest{Name: "fix", Branches: "fix-*", Parent: "staging", Select: []string{"st-*"},
		Each: 1, Max: 5, Reason: "reviews"}
	if _, err := client.Post(t.Context(), w.user("kim", "operate"), route.FollowBranches(), r); err == nil {
		t.Error("the right operate creates rules")
	}
	unknown := r
	unknown.Parent = "stagin"
	if _, err := client.Post(t.Context(), admin, route.FollowBranches(), unknown); err == nil ||
		!strings.Contains(err.Error(), "declares no environment") {
		t.Error(err)
	}
	for _, want := range []string{"get environments fix-* from staging", "exists already"} {
		d, err := client.Post(t.Context(), admin, route.FollowBranches(), r)
		if err != nil || !strings.Contains(d.Text, want) {
			t.Error(d, err)
		}
	}
	w.rule(admin, "fix-7")
	if in := w.assigned("st-1", "fix-7", "fix-7").Environment; in == nil || in.Name != "fix-7" {
		t.Errorf("the environment is %+v", in)
	}
	at := route.EnvironmentName{Environment: "fix-7"}
	if _, err := client.Call(t.Context(), admin, route.ExtendEnvironment(), at,
		document.EnvironmentExtension{For: int64(time.Hour)}); err == nil ||
		!strings.Contains(err.Error(), "of the rule fix") {
		t.Error(err)
	}
	if d, err := client.GetAt(t.Context(), admin, route.Environment(), at); err != nil || d.Environment.Until != 0 ||
		d.Environment.Rule != "fix" {
		t.Errorf("%+v %v", d, err)
	}
	for _, want := range []string{"Environments that end: 1", "no rule fix"} {
		d, err := client.Call(t.Context(), admin, route.UnfollowBranches(), route.EnvironmentRuleName{Rule: "fix"},
			document.ReasonRequest{})
		if err != nil || !strings.Contains(d.Text, want) {
			t.Error(d, err)
		}
	}
	w.assigned("st-1", "main", "main")
	w.git("-C", w.repo, "branch", "-D", "fix-7")
	if _, err := client.Post(t.Context(), admin, route.FollowBranches(), r); err != nil {
		t.Error(err)
	}
	w.rule(admin, "")
	if !bytes.Equal(prod, w.envelope("prod-1")) {
		t.Error("the assignment of prod-1 changed")
	}
}
