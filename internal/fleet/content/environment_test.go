package content_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

const environmentSite = `
environment "staging" {
  labels = { env = "staging" }
  domain = "staging.example.org"
  vars   = { text = "of staging" }
}
target_group "web" {
  targets = ["*"]
  modules = ["web"]
}
`

const environmentModule = `
variable "text" { default = "" }
variable "names" {
  type    = list(string)
  default = []
}
exec "show" {
  command = concat(["/bin/echo", var.text, environment.name, environment.domain, environment.parent], var.names)
}
`

// TestCompileEnvironment: a hub and an agent compile the same list for a target in an environment that an operator
// created. Its variables mean the same as on the command line, so no text is evaluated as a template. The list of
// another target does not change.
func TestCompileEnvironment(t *testing.T) {
	top := repo.MapTree(map[string]string{"fettle.hcl": environmentSite})
	modules := map[string]repo.Tree{"modules/web": repo.MapTree(map[string]string{"module.hcl": environmentModule})}
	list := func(t *rapid.T, enrolled fleet.EnrolledTargets, target string, vars map[string]string) string {
		tree, err := content.Compose(top, modules, enrolled)
		if err != nil {
			t.Fatal(err)
		}
		res, ds := compile.Open(tree).Compile(compile.Input{Target: target, Vars: vars})
		if ds.HasErrors() {
			t.Fatal(ds.Err())
		}
		var b strings.Builder
		if err := step.Print(&b, res.List, step.PrintOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	rapid.Check(t, func(t *rapid.T) {
		domain := rapid.SampledFrom([]string{"", "review.example.org"}).Draw(t, "domain")
		vars := map[string]string{
			"text": rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("$%{}\"\\ a\n~")), 0, 12, -1),
				rapid.String()).Filter(func(s string) bool { return !strings.Contains(s, "\x00") }).Draw(t, "text"),
			"names": rapid.SampledFrom([]string{"[]", `["a", "b"]`, `["$${x}"]`}).Draw(t, "names")}
		in := &fleet.Environment{Name: "review-7", Parent: "staging", Domain: domain, Vars: vars}
		labels := map[string]string{"env": "staging"}
		own, other := fleet.EnrolledTarget{Labels: labels, Environment: in}, fleet.EnrolledTarget{Labels: labels}
		all := fleet.EnrolledTargets{"st-1": other, "st-2": own}
		got := list(t, all, "st-2", nil)
		if agent := list(t, fleet.EnrolledTargets{"st-2": own}, "st-2", nil); agent != got {
			t.Fatalf("the agent compiles\n%s\nand the hub\n%s", agent, got)
		}
		without := fleet.EnrolledTarget{Labels: labels,
			Environment: &fleet.Environment{Name: "review-7", Parent: "staging", Domain: domain}}
		if want := list(t, fleet.EnrolledTargets{"st-2": without}, "st-2", vars); got != want {
			t.Fatalf("the variables mean\n%s\nand on the command line\n%s", got, want)
		}
		if domain == "" && !strings.Contains(got, " review-7 review-7.staging.example.org staging") {
			t.Fatal(got)
		}
		before := list(t, fleet.EnrolledTargets{"st-1": other, "st-2": other}, "st-1", nil)
		if after := list(t, all, "st-1", nil); after != before {
			t.Fatalf("the list of another target changes from\n%s\nto\n%s", before, after)
		}
	})
}
