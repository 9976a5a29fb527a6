package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

const threeEnvironments = `environment "company" {
  domain = "example.org"
}
environment "production" {
  labels      = { env = "production" }
  parent      = "company"
  domain      = "shop.example.org"
  min_members = 2
}
environment "staging" {
  labels = { env = ["staging", "review"] }
  parent = "company"
  check "shop" {
    http = "https://shop.${environment.domain}/?of=${environment.parent}"
    from = ["probe-${environment.name}"]
  }
  task "once" { command = ["import", environment.name] }
}
environment "review" {
  labels = { env = "review" }
  parent = "staging"
}
target "p1" { labels = { env = "production" } }
target "s1" { labels = { env = "staging" } }
target "r1" { labels = { env = "review" } }
target "probe-staging" {}
`

// TestEnvironments: a target belongs to the innermost environment, and children have a domain below the one of their
// parent.
func TestEnvironments(t *testing.T) {
	all, ds := Scopes(scopeTree(threeEnvironments))
	if ds.Err() != nil {
		t.Fatal(ds.Err())
	}
	var got []string
	for _, s := range all.Scopes {
		got = append(got, fmt.Sprint(s.ID(), s.Targets, s.Parent, s.Domain, s.MinMembers))
	}
	want := []string{"environment/company[] example.org 0",
		"environment/production[p1]company shop.example.org 2",
		"environment/staging[s1]company staging.example.org 0",
		"environment/review[r1]staging review.staging.example.org 0"}
	for i := range want {
		if strings.ReplaceAll(got[i], " ", "") != strings.ReplaceAll(want[i], " ", "") {
			t.Errorf("%s\nnot\n%s", got[i], want[i])
		}
	}
	staging := all.Scopes[2]
	c := staging.Checks[0]
	if c.HTTP != "https://shop.staging.example.org/?of=company" || !slices.Equal(c.From, []string{"probe-staging"}) {
		t.Errorf("the check is %+v", c)
	}
	if task := staging.Tasks[0]; !slices.Equal(task.Command, []string{"import", "staging"}) {
		t.Errorf("the task is %+v", task)
	}
	if err := all.Valid(); err != nil {
		t.Error(err)
	}
	i := slices.IndexFunc(all.Kinds, func(k query.ScopeKind) bool { return k.Name == "environment" })
	if k := all.Kinds[i]; k.Overlap || k.Empty != "empty" {
		t.Errorf("the kind is %+v", k)
	}
	targets, ds := Targets(scopeTree(threeEnvironments))
	if ds.Err() != nil || targets[2].Environment != "review" || targets[3].Environment != "" {
		t.Errorf("%+v, %v", targets, ds.Err())
	}
}

// TestScopesOfData: for_each makes clusters and environments, whose parts can use each.
func TestScopesOfData(t *testing.T) {
	data := "staging: {domain: s.example.org, replicas: 1}\nproduction: {domain: example.org, replicas: 3}\n"
	tree := repo.MapTree(map[string]string{"environments.yaml": data, "fettle.hcl": `environment "all" {
  for_each    = yamldecode(file("environments.yaml"))
  labels      = { env = each.key }
  domain      = each.value.domain
  vars        = { replicas = each.value.replicas }
  min_members = each.value.replicas
  check "shop" {
    http = "https://${environment.domain}/${each.value.replicas}"
  }
}
cluster "db" {
  for_each = toset(["staging", "production"])
  name     = "db-${each.key}"
  labels   = { env = each.key }
  task "form" { command = ["form", each.key] }
}
variable "replicas" { type = number }
target "s1" { labels = { env = "staging" } }
target "p1" { labels = { env = "production" } }
exec "show" { command = [tostring(var.replicas)] }
`})
	res, ds := Compile(Input{Tree: tree, Target: "p1"})
	if ds.Err() != nil || !slices.Contains(res.Files, "environments.yaml") ||
		!strings.HasPrefix(res.List.String(), "EXEC show 3\n") {
		t.Errorf("%s of %v: %v", res.List, res.Files, ds.Err())
	}
	all, ds := Scopes(tree)
	if ds.Err() != nil {
		t.Fatal(ds.Err())
	}
	var got []string
	for _, s := range all.Scopes {
		part := ""
		for _, c := range s.Checks {
			part += c.HTTP
		}
		for _, x := range s.Tasks {
			part += strings.Join(x.Command, " ")
		}
		got = append(got, fmt.Sprint(s.ID(), s.Targets, s.MinMembers, part))
	}
	want := "[environment/production[p1]3https://example.org/3 environment/staging[s1]1https://s.example.org/1 " +
		"cluster/db-production[p1]0form production cluster/db-staging[s1]0form staging]"
	if strings.ReplaceAll(fmt.Sprint(got), " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("%v\nnot\n%s", got, want)
	}
}

func TestEnvironmentErrors(t *testing.T) {
	for _, c := range []struct{ hcl, want string }{
		{`environment "a" { parent = "b" }`, "1:28: error: Unknown environment"},
		{"environment \"stagin\" {}\nenvironment \"a\" { parent = \"staging\" }", `Did you mean "stagin"?`},
		{"environment \"a\" { parent = \"b\" }\nenvironment \"b\" { parent = \"a\" }", "a → b → a."},
		{`environment "a" { parent = "a" }`, "Cyclic environments"},
		{nestedEnvironments(9), "Environments nested too deeply"},
		{`environment "a" { domain = "a b" }`, "Bad domain"},
		{"environment \"a\" { domain = \"b\" }\nenvironment \"x_y\" { parent = \"a\" }", "Set domain"},
		{`environment "a" { branch = "next" }`, `An environment has no attribute "branch"`},
		{`environment "a" { scopes = ["cluster/a"] }`, `has no attribute "scopes"`},
		{`environment "a" { roles = ["a"] }`, `An environment has no attribute "roles"`},
		{`cluster "a" { parent = "b" }`, `no attribute "parent"`},
		{"scope \"a\" {\n  kind = \"environment\"\n  targets = [\"*\"]\n}", "Environment as a scope"},
		{"scope_kind \"environment\" { overlap = true }", "Environments that overlap"},
		{"scope_kind \"environment\" { enabled = false }\nenvironment \"a\" {}", "no enabled kind"},
		{"environment \"a\" { targets = [\"*\"] }\nenvironment \"b\" { targets = [\"t\"] }\ntarget \"t\" {}",
			`belongs to the environment "a", declared at fettle.hcl:1:13, and to "b", declared at fettle.hcl:2:13.`},
		{"environment \"a\" {\n  check \"c\" { http = \"http://${environment.nme}/\" }\n}", "Unsupported attribute"},
		{"cluster \"a\" {\n  targets = [\"*\"]\n  check \"c\" { http = \"http://${environment.name}/\" }\n}",
			"Variables not allowed"},
		{`environment "a" { domain = environment.name }`, "Variables not allowed"},
		{"environment \"a\" {\n  for_each = toset([\"x y\"])\n}", `Bad name for a scope`},
		{"environment \"a\" {\n  for_each = toset([\"x\"])\n  name = \"y\"\n}\nenvironment \"y\" {}", "declared twice"},
		{"environment \"a\" {\n  for_each = toset([])\n}", "Too few scopes"},
		{"cluster \"a\" {\n  for_each = toset([\"x\"])\n  targets = [each.value.y]\n}", `Here, each is the element "x".`},
		{"cluster \"a\" {\n  for_each = target.name\n  targets = [\"*\"]\n}", "Not known in for_each"},
		{"cluster \"a\" {\n  targets = [\"*\"]\n  at_least = 0\n}", "Attribute without for_each"},
		{`scope_kind "a" { for_each = [] }`, `no attribute "for_each"`},
	} {
		_, ds := Scopes(scopeTree(c.hcl))
		if got := fmt.Sprint(ds.Err()); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\nnot %q", c.hcl, got, c.want)
		}
	}
	if _, ds := Scopes(scopeTree(nestedEnvironments(8))); ds.Err() != nil {
		t.Error(ds.Err())
	}
}

func nestedEnvironments(n int) string {
	var b strings.Builder
	for i := range n {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf(" parent = \"e%d\" ", i-1)
		}
		fmt.Fprintf(&b, "environment \"e%d\" {%s}\n", i, parent)
	}
	return b.String()
}

// TestConflictOfEnrolled: a target that was enrolled with labels of two environments does not prevent the evaluation of
// other targets. Both environments have it as a member, and its list is an error.
func TestConflictOfEnrolled(t *testing.T) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": "environment \"a\" { labels = { a = \"1\" } }\n" +
		"environment \"b\" { labels = { b = \"1\" } }\ntarget \"t\" { labels = { a = \"1\" } }\n",
		"enrolled.fettle.json": `{"enrolled": {"e": {"labels": {"a": "1", "b": "1"}}}}`})
	all, ds := Scopes(tree)
	if ds.Err() != nil || fmt.Sprint(all.Scopes[0].Targets, all.Scopes[1].Targets) != "[e t] [e]" {
		t.Errorf("%+v, %v", all.Scopes, ds.Err())
	}
	targets, ds := Targets(tree)
	if ds.Err() != nil || len(targets) != 2 || len(targets[0].Errors) != 0 || targets[1].Environment != "" ||
		!strings.Contains(fmt.Sprint(targets[1].Errors), "Target in two environments") {
		t.Errorf("%+v, %v", targets, ds.Err())
	}
	_, ds = Compile(Input{Tree: tree, Target: "e"})
	if !strings.Contains(fmt.Sprint(ds.Err()), "Target in two environments") {
		t.Error(ds.Err())
	}
	if _, ds := Compile(Input{Tree: tree, Target: "t"}); ds.Err() != nil {
		t.Error(ds.Err())
	}
}

// TestInnermost compares the choice with its definition: all others are ancestors of the chosen one.
func TestInnermost(t *testing.T) {
	parents := map[string]string{"a": "", "b": "a", "c": "b", "d": "a", "x": "y", "y": "x"}
	for _, c := range []struct {
		selected string
		want     string
		conflict string
	}{
		{"", "", "[]"}, {"a", "a", "[]"}, {"a b", "b", "[]"}, {"b a", "b", "[]"}, {"c a", "c", "[]"}, {"a c b", "c", "[]"},
		{"d b", "", "[d b]"}, {"a b d", "", "[b d]"}, {"a d c", "", "[d c]"}, {"unknown a", "", "[unknown a]"},
	} {
		name, conflict := query.Innermost(parents, strings.Fields(c.selected))
		if name != c.want || fmt.Sprint(conflict) != c.conflict {
			t.Errorf("%q: %q %v", c.selected, name, conflict)
		}
	}
}

// TestDynamicEnvironment: a target whose enrolled block names an environment leaves the environment that its labels
// select. Its variables are texts, as on the command line, and expressions in them are errors.
func TestDynamicEnvironment(t *testing.T) {
	const declared = `environment "staging" {
  labels = { env = "staging" }
  domain = "staging.example.org"
  vars   = { size = 1, place = "here" }
}
variable "size" { type = number }
variable "place" { default = "nowhere" }
variable "names" { default = [] }
variable "list" {
  type    = list(string)
  default = []
}
exec "show" {
  command = concat([environment.name, environment.domain, environment.parent, tostring(var.size), var.place], var.list)
}
`
	tree := func(more, environment string) repo.Tree {
		return repo.MapTree(map[string]string{"fettle.hcl": declared + more, "enrolled.fettle.json": `{"enrolled": {
			"st-1": {"labels": {"env": "staging"}},
			"st-7": {"labels": {"env": "staging"}, "environment": ` + environment + `}}}`})
	}
	list := func(tree repo.Tree, target string) string {
		t.Helper()
		res, ds := Compile(Input{Tree: tree, Target: target})
		return res.List.String() + fmt.Sprint(ds.Err())
	}
	review := tree("", `{"name": "review-7", "parent": "staging", "vars": {"size": "7", "list": "[\"a\", \"b\"]"}}`)
	want := "EXEC show review-7 review-7.staging.example.org staging 7 here a b\n"
	if got := list(review, "st-7"); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	if got := list(review, "st-1"); !strings.HasPrefix(got, "EXEC show staging staging.example.org \"\" 1 here\n") {
		t.Error(got)
	}
	all, ds := Scopes(review)
	if ds.Err() != nil || all.Valid() != nil || len(all.Scopes) != 2 {
		t.Fatal(all.Scopes, ds.Err(), all.Valid())
	}
	if s := all.Scopes[1]; fmt.Sprintf("%v %v %v %v", all.Scopes[0].Targets, s.Targets, s.ID(), s.Environment) !=
		"[st-1] [st-7] environment/review-7 {staging review-7.staging.example.org true}" {
		t.Errorf("%+v", all.Scopes)
	}
	targets, ds := Targets(review)
	if ds.Err() != nil || targets[1].Environment != "review-7" {
		t.Errorf("%+v, %v", targets, ds.Err())
	}
	taken := tree(`environment "review-7" {}`, `{"name": "review-7", "parent": "staging"}`)
	if got := list(taken, "st-7"); !strings.HasPrefix(got, "EXEC show staging ") {
		t.Error("a declared environment does not take precedence", got)
	}
	gone := tree("", `{"name": "review-7", "parent": "stagin"}`)
	targets, ds = Targets(gone)
	if ds.Err() != nil || !strings.Contains(fmt.Sprint(targets[1].Errors), "Unknown environment") ||
		len(targets[0].Errors) > 0 {
		t.Errorf("%+v, %v", targets, ds.Err())
	}
	all, ds = Scopes(gone)
	if ds.Err() != nil || len(all.Scopes) != 1 || fmt.Sprint(all.Scopes[0].Targets) != "[st-1]" {
		t.Errorf("%+v, %v", all.Scopes, ds.Err())
	}
	if got := list(gone, "st-7"); !strings.Contains(got, `Did you mean "staging"?`) {
		t.Error(got)
	}
	for environment, want := range map[string]string{
		`{"parent": "staging"}`:    "Bad environment of a target",
		`{"name": "a b"}`:          "Bad environment of a target",
		`{"name": "a", "more": 1}`: "Bad environment of a target",
		`"a"`:                      "Bad environment of a target",
		`{"name": "a", "vars": {"size": "${1 + 1}"}}`:          "",
		`{"name": "a", "vars": {"place": "${secret(\"x\")}"}}`: "Function calls not allowed",
		`{"name": "a", "vars": {"place": "${target.name}"}}`:   "Variables not allowed",
		`{"name": "a_b", "parent": "staging"}`:                 "Bad domain",
	} {
		if got := list(tree("", environment), "st-7"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", environment, got)
		}
	}
}
