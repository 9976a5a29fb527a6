package compile

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
)

const searchCluster = `target "s1" { labels = { role = "search" } }
target "s2" { labels = { role = "search" } }
target "mon" {}
scope_kind "rack" {
  overlap = false
  empty   = "failed"
}
cluster "search" {
  labels      = { role = "search" }
  min_members = 2
  check "formed" {
    http       = "http://127.0.0.1:9200/health"
    fail_after = "1m"
  }
  check "reachable" {
    tcp    = "search.example.org:9200"
    from   = ["mon*"]
    quorum = 1
  }
  task "templates" {
    after    = [task.schema, check.formed]
    command  = ["/usr/local/bin/import", "templates"]
    input    = file("templates.json")
    triggers = { version = 3 }
    verify {
      http = "http://127.0.0.1:9200/template"
    }
    retries = 2
  }
  task "schema" { command = ["true"] }
}
scope "all" {
  kind   = "rack"
  scopes = ["cluster/search"]
}
`

func scopeTree(hcl string) repo.Tree {
	return repo.MapTree(map[string]string{"fettle.hcl": hcl, "templates.json": `{"a": 1}`,
		"environments.yaml": "staging: {replicas: 1}\n", "crl.pem": "none", "secrets/hubs/tsig.age": "sealed"})
}

func TestScopes(t *testing.T) {
	all, ds := Scopes(scopeTree(searchCluster))
	if ds.Err() != nil {
		t.Fatal(ds.Err())
	}
	if len(all.Kinds) != 4 || all.Kinds[2].Name != "rack" || all.Kinds[2].Overlap || all.Kinds[2].Empty != "failed" {
		t.Errorf("the kinds are %+v", all.Kinds)
	}
	s := all.Scopes[0]
	if s.ID() != "cluster/search" || !slices.Equal(s.Targets, []string{"s1", "s2"}) || s.MinMembers != 2 ||
		s.Source != "fettle.hcl:8" {
		t.Errorf("the scope is %+v", s)
	}
	if c := s.Checks[1]; !slices.Equal(c.From, []string{"mon"}) || !c.Outside || c.Quorum != "1" || c.Every != 30 {
		t.Errorf("the check is %+v", c)
	}
	task := s.Tasks[0]
	if task.Input != `{"a": 1}` || !slices.Equal(task.After, []string{"check.formed", "task.schema"}) ||
		task.OnUnknown != "verify" || task.Verify.Status != 200 || s.Tasks[1].OnUnknown != "ask" {
		t.Errorf("the tasks are %+v", s.Tasks)
	}
	if got := all.Scopes[1]; got.ID() != "rack/all" || !slices.Equal(got.Scopes, []string{"cluster/search"}) {
		t.Errorf("the second scope is %+v", got)
	}
	if own := all.Tests("s1"); len(own) != 1 || own[0].Name != "formed" {
		t.Errorf("s1 tests %+v", own)
	}
	if own := all.Tests("mon"); len(own) != 1 || own[0].Name != "reachable" {
		t.Errorf("mon tests %+v", own)
	}
	if _, ok := all.Task("cluster/search", "schema", "mon"); ok {
		t.Error("a target that is not a member has a task")
	}
}

// TestUndoOfTask: the undo of a task has a digest of its own, and does not change the digest of the task.
func TestUndoOfTask(t *testing.T) {
	text := func(undo string) string {
		return "target \"a\" {}\ncluster \"x\" {\n  targets = [\"a\"]\n  task \"t\" {\n    command = [\"load\"]\n" + undo +
			"  }\n}\n"
	}
	read := func(undo string) query.ScopeTask {
		t.Helper()
		all, ds := Scopes(scopeTree(text(undo)))
		if ds.Err() != nil || all.Valid() != nil {
			t.Fatal(ds.Err(), all.Valid())
		}
		return all.Scopes[0].Tasks[0]
	}
	plain := read("")
	undone := read("    undo {\n      command    = [\"unload\"]\n" +
		"      input      = file(\"crl.pem\")\n      retries    = 2\n" +
		"      on_unknown = \"retry\"\n      verify { file = \"/gone\" }\n    }\n")
	u := undone.Undo
	if plain.Undo != nil || undone.Digest != plain.Digest || u == nil || u.Digest == plain.Digest || u.Name != "t" ||
		u.Command[0] != "unload" || u.Input != "none" || u.Retries != 2 || u.OnUnknown != "retry" ||
		u.Verify.File != "/gone" {
		t.Errorf("%+v, %+v", undone, u)
	}
	if other := read("    undo { command = [\"unload\", \"all\"] }\n"); other.Undo.Digest == u.Digest ||
		other.Undo.OnUnknown != "ask" {
		t.Errorf("%+v", other.Undo)
	}
	for undo, want := range map[string]string{
		"    undo {}\n": "Task without a command",
		"    undo {\n      command = [\"a\"]\n      after = [task.t]\n    }\n":                "no attribute \"after\"",
		"    undo {\n      command = [\"a\"]\n      undo { command = [\"a\"] }\n    }\n":      "no block \"undo\"",
		"    undo { command = [\"a\"] }\n    undo { command = [\"a\"] }\n":                    "one undo block",
		"    undo {\n      command = [\"a\"]\n      secrets = { A = \"hubs/tsig\" }\n    }\n": "Secrets of a task of members",
		"    undo {\n      command = [\"a\"]\n      on_unknown = \"verify\"\n    }\n":         "Nothing to verify",
	} {
		if _, ds := Scopes(scopeTree(text(undo))); !strings.Contains(texts(ds.Err()), want) {
			t.Errorf("%s gives %v, want %s", undo, ds.Err(), want)
		}
	}
	for file, text := range map[string]string{
		"fettle.yaml": "target: {a: {}}\ncluster:\n  x:\n    targets: [a]\n    task:\n      t:\n        command: [load]\n" +
			"        undo:\n          command: [unload]\n          verify: {file: /gone}\n",
		"fettle.star": "target(\"a\")\ndef task_body():\n    undo(command = [\"unload\"])\n\ndef body():\n" +
			"    task(\"t\", task_body, command = [\"load\"])\n\ncluster(\"x\", body, targets = [\"a\"])\n",
	} {
		all, ds := Scopes(repo.MapTree(map[string]string{file: text}))
		if ds.Err() != nil || all.Scopes[0].Tasks[0].Undo == nil {
			t.Errorf("%s: %+v, %v", file, all, ds.Err())
		}
	}
}

// TestGeneratedMembers: a target of a block with for_each can be a member.
func TestGeneratedMembers(t *testing.T) {
	all, ds := Scopes(scopeTree("target \"s\" {\n  for_each = { a = 1, b = 2 }\n  name     = \"s-${each.key}\"\n" +
		"  labels   = { rack = each.key }\n}\ncluster \"a\" { labels = { rack = \"b\" } }\n"))
	if ds.Err() != nil || len(all.Scopes) != 1 || !slices.Equal(all.Scopes[0].Targets, []string{"s-b"}) {
		t.Errorf("%+v, %v", all.Scopes, ds.Err())
	}
}

// TestTaskDigest: the digest depends on the content of the task, and on nothing else.
func TestTaskDigest(t *testing.T) {
	digest := func(old, new string) string {
		t.Helper()
		all, ds := Scopes(scopeTree(strings.Replace(searchCluster, old, new, 1)))
		if ds.Err() != nil {
			t.Fatal(ds.Err())
		}
		return all.Scopes[0].Tasks[0].Digest
	}
	was := digest("", "")
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{`"templates"]`, `"other"]`, false},
		{`version = 3`, `version = 4`, false},
		{`/template"`, `/other"`, false},
		{`file("templates.json")`, `"text"`, false},
		{`retries = 2`, `retries = 3`, true},
		{`after    = [task.schema, check.formed]`, `after = [check.formed]`, true},
		{`role = "search"`, `role = "other"`, true},
	} {
		if got := digest(c.old, c.new); (got == was) != c.same {
			t.Errorf("%s instead of %s: the same digest is %v", c.new, c.old, got == was)
		}
	}
}

func TestScopeErrors(t *testing.T) {
	for _, c := range []struct{ hcl, want string }{
		{`cluster "a" {}`, "Scope without members"},
		{`cluster "a b" { targets = ["*"] }`, "Bad name for a scope"},
		{`scope "a" { targets = ["*"] }`, "Scope without a kind"},
		{"scope_kind \"rack\" {}\nscope \"a\" {\n  kind = \"rck\"\n  targets = [\"*\"]\n}", `Did you mean "rack"?`},
		{"scope_kind \"cluster\" { enabled = false }\ncluster \"a\" { targets = [\"*\"] }", "no enabled kind"},
		{"cluster \"a\" { targets = [\"*\"] }\ncluster \"a\" { targets = [\"*\"] }", "declared twice"},
		{"cluster \"a\" { scopes = [\"cluster/b\"] }\ncluster \"b\" { scopes = [\"cluster/a\"] }", "Cyclic scopes"},
		{"cluster \"a\" { scopes = [\"cluster/b\"] }\ncluster \"b\" { scopes = [\"cluster/c\"] }\n" +
			`cluster "c" { scopes = ["cluster/b"] }`, "cluster/b → cluster/c → cluster/b."},
		{`cluster "a" { scopes = ["cluster/a"] }`, "1:9: error: Cyclic scopes"},
		{`cluster "a" { scopes = ["cluster/x"] }`, "Unknown scope"},
		{"cluster \"a\" {\n  targets = [\"*\"]\n  scopes = [\"cluster/x\"]\n}", "Two sorts of members"},
		{"scope_kind \"r\" { overlap = false }\ntarget \"t\" {}\nscope \"a\" {\n  kind = \"r\"\n  targets = [\"t\"]\n}\n" +
			"scope \"b\" {\n  kind = \"r\"\n  targets = [\"t\"]\n}", "Target in two scopes"},
		{member(`check "c" {}`), "Not one condition"},
		{member("check \"c\" {\n  unit = \"a\"\n  tcp = \"b:1\"\n}"), "Not one condition"},
		{member("check \"c\" {\n  unit = \"a\"\n  status = 3\n}"), "Attribute without effect"},
		{member("check \"c\" {\n  unit = \"a\"\n  evry = \"3s\"\n}"), `Did you mean "every"?`},
		{member("check \"c\" {\n  unit = \"a\"\n  every = \"1s\"\n}"), "from 5 to 3600"},
		{member("check \"c\" {\n  unit = \"a\"\n  quorum = \"0\"\n}"), "Bad quorum"},
		{member(`task "t" {}`), "Task without a command"},
		{member(`task "t" { command = "true" }`), "list of words"},
		{member("task \"t\" {\n  command = [\"a\"]\n  after = [check.x]\n}"), "Unknown condition"},
		{member("task \"t\" {\n  command = [\"a\"]\n  after = [service.x]\n}"), "Bad reference"},
		{member("task \"t\" {\n  command = [\"a\"]\n  after = [check.x]\n}"), "5:12: error: Unknown condition"},
		{member("task \"t\" {\n  command = [\"a\"]\n  after = [task.t]\n}"), "Cyclic tasks"},
		{member("task \"t\" {\n  command = [\"a\"]\n  after = [task.u]\n}\ntask \"u\" {\n  command = [\"a\"]\n" +
			"  after = [task.t]\n}"), "task.t → task.u → task.t."},
		{member("check \"c\" { http = \"search:9200\" }"), "Bad condition"},
		{member("check \"c\" { http = \"http://a:b@search/\" }"), "contains a name or password"},
		{member("check \"c\" { tcp = \"search\" }"), "Bad condition"},
		{member("check \"c\" { exec = \"a 'b\" }"), "Bad condition"},
		{member("check \"c\" { file = \"a\" }"), "Bad condition"},
		{member("check \"c\" {\n  unit = \"a\"\n  contains = \"b\"\n}"), "Bad condition"},
		{member("task \"t\" {\n  command = [\"a\"]\n  verify { http = \"x\" }\n}"), "Bad condition"},
		{member("task \"t\" {\n  command = [\"a\"]\n  verify { unit = \"x\" }\n  verify { unit = \"y\" }\n}"),
			"one verify block"},
		{member("check \"c\" { http = target.name }"), "Variables not allowed"},
		{member("check \"a\" { unit = \"a\" }\n  check \"a\" { unit = \"a\" }"), "Block declared twice"},
		{`task "t" { command = ["a"] }`, "Task outside of a scope"},
		{`verify { unit = "a" }`, "Task outside of a scope"},
		{member("task \"t\" {\n  command = [\"a\"]\n  on_unknown = \"verify\"\n}"), "Nothing to verify"},
		{member("task \"t\" {\n  command = [\"a\"]\n  input = secret(\"x\")\n}"), "cannot contain a secret"},
		{"scope_kind \"r\" {}\nscope \"a\" {\n  kind = \"r\"\n" +
			"  scopes = [\"cluster/b\"]\n  task \"t\" { command = [\"a\"] }\n}\n" +
			`cluster "b" { targets = ["*"] }`, "Task without targets"},
	} {
		all, ds := Scopes(repo.MapTree(map[string]string{"fettle.hcl": c.hcl + "\n"}))
		if err := ds.Err(); err == nil || !strings.Contains(err.Error(), c.want) || len(all.Scopes) > 0 {
			t.Errorf("%s\ngives %v, want %q", c.hcl, err, c.want)
		}
	}
}

// TestScopesReadFiles: values of scopes can contain files of the top, but neither secrets, in a template for example,
// nor files of modules, which are not on all targets.
func TestScopesReadFiles(t *testing.T) {
	for value, want := range map[string]string{
		`file("a.json")`:                          "",
		`templatefile("plain.tmpl", { x = 1 })`:   "",
		`join(" ", fileset(".", "**"))`:           "",
		`templatefile("secret.tmpl", {})`:         "cannot contain a secret",
		`file("modules/web/a")`:                   "cannot read files of modules",
		`file("./modules/../modules/web/a")`:      "cannot read files of modules",
		`join(" ", fileset("modules/web", "**"))`: "cannot read files of modules",
		`file("binary")`:                          "is not UTF-8 text",
		`file("missing")`:                         "missing",
	} {
		tree := repo.MapTree(map[string]string{
			"fettle.hcl": "target \"t\" {}\n" + member("task \"t\" {\n  command = [\"a\"]\n  input = "+value+"\n}"),
			"a.json":     "{}", "plain.tmpl": "${x}", "secret.tmpl": `${secret("x")}`, "binary": "\xff",
			"modules/web/a": "a", secret.PathOf("x"): "x"})
		all, ds := Scopes(tree)
		if got := ds.Err(); (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%s gives %v, want %q", value, got, want)
		}
		if want == "" && strings.Contains(all.Scopes[0].Tasks[0].Input, "modules/") {
			t.Errorf("%s gives %q", value, all.Scopes[0].Tasks[0].Input)
		}
		if _, ds := Compile(Input{Tree: tree, Target: "t"}); (ds.Err() == nil) != (want == "") {
			t.Errorf("%s: the list has the errors %v", value, ds.Err())
		}
	}
}

func TestInputsAreLimited(t *testing.T) {
	var text strings.Builder
	for i := range 9 {
		text.WriteString(strings.Replace(member("task \"t\" {\n  command = [\"a\"]\n  input = file(\"x\")\n}"), "\"a\"",
			fmt.Sprintf("\"a%d\"", i), 1) + "\n")
	}
	for size, want := range map[int]string{900 << 10: "", 1 << 20: "8388608 bytes", 1<<20 + 1: "1048576 bytes"} {
		_, ds := Scopes(repo.MapTree(map[string]string{"fettle.hcl": text.String(), "x": strings.Repeat("a", size)}))
		if got := ds.Err(); (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%d bytes give %v, want %q", size, got, want)
		}
	}
}

func member(block string) string { return "cluster \"a\" {\n  targets = [\"*\"]\n  " + block + "\n}" }

const yamlCluster = `target: {s1: {labels: {role: search}}, s2: {labels: {role: search}}}
cluster:
  search:
    labels: {role: search}
    min_members: 2
    check:
      formed: {http: "http://127.0.0.1:9200/health", fail_after: 1m}
    task:
      templates:
        after: [check.formed]
        command: [/usr/local/bin/import]
        triggers: {version: 3}
        verify: {unit: done}
`

const starCluster = `target("s1", labels = {"role": "search"})
target("s2", labels = {"role": "search"})

def templates():
    verify(unit = "done")

def search():
    check("formed", http = "http://127.0.0.1:9200/health", fail_after = "1m")
    task("templates", templates, after = ["check.formed"], command = ["/usr/local/bin/import"],
         triggers = {"version": 3})

cluster("search", search, labels = {"role": "search"}, min_members = 2)
`

const hclCluster = `target "s1" { labels = { role = "search" } }
target "s2" { labels = { role = "search" } }
cluster "search" {
  labels      = { role = "search" }
  min_members = 2
  check "formed" {
    http       = "http://127.0.0.1:9200/health"
    fail_after = "1m"
  }
  task "templates" {
    after    = [check.formed]
    command  = ["/usr/local/bin/import"]
    triggers = { version = 3 }
    verify { unit = "done" }
  }
}
`

// TestDocumentedScopes: the examples of docs/scopes.md are valid.
func TestDocumentedScopes(t *testing.T) {
	text, err := os.ReadFile("../../docs/scopes.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, block := range strings.Split(string(text), "```hcl\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if all, ds := Scopes(scopeTree(block)); ds.Err() != nil || len(all.Scopes) == 0 {
			t.Errorf("%s\ngives %v, %d scopes", block, ds.Err(), len(all.Scopes))
		}
		examples++
	}
	if examples < 2 {
		t.Errorf("%d examples", examples)
	}
}

// TestScopesInForms: all forms of the language declare the same scope.
func TestScopesInForms(t *testing.T) {
	scopes := func(file, text string) query.Scope {
		t.Helper()
		all, ds := Scopes(repo.MapTree(map[string]string{file: text}))
		if ds.Err() != nil || len(all.Scopes) != 1 {
			t.Fatalf("%s: %v, %d scopes", file, ds.Err(), len(all.Scopes))
		}
		s := all.Scopes[0]
		s.Source, s.Checks[0].Source, s.Tasks[0].Range = "", "", diag.Range{}
		return s
	}
	want := scopes("fettle.hcl", hclCluster)
	for file, text := range map[string]string{"fettle.yaml": yamlCluster, "fettle.star": starCluster} {
		if got := scopes(file, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives\n%+v\nwant\n%+v", file, got, want)
		}
	}
}

// TestConditionsAreSteps: each condition is a valid step.
func TestConditionsAreSteps(t *testing.T) {
	for want, p := range map[string]query.Probe{
		"CHECK scope http=http://x/ status=204 contains=ok within=10s": {HTTP: "http://x/", Status: 204, Contains: "ok"},
		"CHECK scope tcp=db:5432 within=10s":                           {TCP: "db:5432"},
		`CHECK scope exec="test -f /x" within=10s`:                     {Exec: "test -f /x"},
		"CHECK scope unit=etcd.service within=10s":                     {Unit: "etcd.service"},
		"CHECK scope file=/etc/x contains=x within=10s":                {File: "/etc/x", Contains: "x"},
	} {
		s, err := p.Step(10 * time.Second)
		if err != nil || s.Text() != want {
			t.Errorf("%q, %v; not %q", s.Text(), err, want)
		}
	}
	if _, err := (query.Probe{}).Step(time.Second); err == nil {
		t.Error("a step without a condition")
	}
}
