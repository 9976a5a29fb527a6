package compile

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// TestChecksOfBranches: an environment that a user of a hub created has the checks of its parent with branches = true,
// with its own name and domain. A target outside that has no other target in its tree gets the same check.
func TestChecksOfBranches(t *testing.T) {
	files := map[string]string{"fettle.hcl": `environment "instance" {
  for_each = { staging = "8443" }
  labels   = { env = each.key }
  domain   = "${each.key}.example.org"
  check "shop" {
    http     = "https://${environment.domain}:${each.value}/?of=${environment.parent}"
    contains = environment.name
    from     = ["probe*"]
    branches = true
  }
  check "inside" {
    file     = "/run/${environment.name}"
    branches = true
  }
  check "parent" { file = "/run/${environment.name}" }
  task "once" { command = ["import"] }
}
`, "enrolled.fettle.json": `{"enrolled": {"probe1": {"labels": {}}, "st-7": {"labels": {"env": "staging"},
		"environment": {"name": "review-7", "parent": "staging", "vars": {"size": "7"}}}}}`}
	text := func(s query.Scope) (out string) {
		for _, c := range s.Checks {
			out += fmt.Sprintln(c.Name, c.HTTP, c.Contains, c.File, c.From, c.Branches)
		}
		return out + fmt.Sprint(s.Targets, len(s.Tasks))
	}
	all, ds := Scopes(repo.MapTree(files))
	if ds.Err() != nil || all.Valid() != nil || len(all.Scopes) != 2 {
		t.Fatal(all.Scopes, ds.Err(), all.Valid())
	}
	const want = "shop https://review-7.staging.example.org:8443/?of=staging review-7  [probe1] true\n" +
		"inside   /run/review-7 [] true\n[st-7] 0"
	if got := text(all.Scopes[1]); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if got := text(all.Scopes[0]); !strings.Contains(got, "shop https://staging.example.org:8443/?of= staging ") ||
		!strings.HasSuffix(got, "parent   /run/staging [] false\n[] 1") {
		t.Error(got)
	}
	files["enrolled.fettle.json"] = `{"enrolled": {"probe1": {"labels": {}, "tests_for": [
		{"name": "review-7", "parent": "staging"}, {"name": "review-8", "parent": "gone"}]}}}`
	outside, ds := Scopes(repo.MapTree(files))
	if ds.Err() != nil || len(outside.Scopes) != 2 {
		t.Fatal(outside.Scopes, ds.Err())
	}
	tests := outside.Tests("probe1")
	if len(tests) != 2 || tests[0].Scope != "environment/review-7" || tests[0].Digest != all.Scopes[1].Checks[0].Digest {
		t.Errorf("%+v", tests)
	}
	if res, ds := Compile(Input{Tree: repo.MapTree(files), Target: "probe1"}); ds.Err() != nil || len(res.List) > 0 {
		t.Error(res.List, ds.Err())
	}
}

// TestErrorsOfBranchChecks: a check that is an error only in the environment of a branch concerns only its members.
func TestErrorsOfBranchChecks(t *testing.T) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": `environment "staging" {
  labels = { env = "staging" }
  check "c" {
    file     = environment.name == "staging" ? "/run/c" : "c"
    branches = true
  }
}
`, "enrolled.fettle.json": `{"enrolled": {"st-1": {"labels": {"env": "staging"}},
		"st-7": {"labels": {"env": "staging"}, "environment": {"name": "review-7", "parent": "staging"}}}}`})
	all, ds := Scopes(tree)
	if ds.Err() != nil || len(all.Scopes) != 1 {
		t.Errorf("%+v %v", all.Scopes, ds.Err())
	}
	targets, ds := Targets(tree)
	if ds.Err() != nil || len(targets[0].Errors) > 0 || !strings.Contains(fmt.Sprint(targets[1].Errors), "fettle.hcl:4") {
		t.Errorf("%+v, %v", targets, ds.Err())
	}
	const cluster, environment = "cluster \"a\" {\n  targets = [\"*\"]\n", "environment \"a\" {\n"
	for _, c := range []struct{ block, attribute, want string }{
		{cluster, "branches = true", "5:5: error: Attribute without effect"},
		{environment, `branches = "yes"`, "True or false expected"},
		{environment, "branch = true", `Did you mean "branches"?`},
	} {
		hcl := c.block + "  check \"c\" {\n    file = \"/a\"\n    " + c.attribute + "\n  }\n}\n"
		if _, ds := Scopes(scopeTree(hcl)); !strings.Contains(fmt.Sprint(ds.Err()), c.want) {
			t.Errorf("%s: %v", hcl, ds.Err())
		}
	}
}
