package compile

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

const publish = `universe "main" {
  description = "the fleet CA"
  check "dns" {
    tcp  = "ns1.example.org:53"
    from = ["mon"]
  }
  task "crl" {
    after   = [check.dns]
    command = ["/usr/local/bin/publish"]
    input   = file("crl.pem")
    secrets = { TSIG_KEY = "hubs/tsig" }
  }
}
target "mon" {}
`

// TestUniverse: hubs do the tasks of a universe. No target is a member, or gets its tasks.
func TestUniverse(t *testing.T) {
	all, ds := Scopes(scopeTree(publish))
	if ds.Err() != nil {
		t.Fatal(ds.Err())
	}
	if err := all.Valid(); err != nil {
		t.Error(err)
	}
	if x := all.Scopes[0]; x.ID() != "universe/main" || len(x.Targets)+len(x.Scopes) != 0 {
		t.Errorf("%+v", x)
	}
	task, ok := all.HubTask("universe/main", "crl")
	if !ok || task.Input != "none" || task.Secrets["TSIG_KEY"] != "hubs/tsig" {
		t.Errorf("%+v", task)
	}
	if _, ok := all.Task("universe/main", "crl", "mon"); ok {
		t.Error("a target has a task of hubs")
	}
	all, _ = Scopes(scopeTree(strings.Replace(publish, "{ TSIG_KEY", "{ OTHER_KEY", 1)))
	if other, _ := all.HubTask("universe/main", "crl"); other.Digest == "" || other.Digest == task.Digest {
		t.Errorf("the digest with another secret is %q", other.Digest)
	}
}

// TestCheckOfHubs: the leading hub tests a check of a universe without from, and no target does.
func TestCheckOfHubs(t *testing.T) {
	all, ds := Scopes(scopeTree(strings.Replace(publish, `from = ["mon"]`, "", 1)))
	if ds.Err() != nil || all.Valid() != nil {
		t.Fatal(ds.Err(), all.Valid())
	}
	c := all.HubTests()
	if len(c) != 1 || c[0].Scope != "universe/main" || c[0].Name != "dns" || !c[0].Hub || c[0].Outside {
		t.Errorf("the hub tests %+v", c)
	}
	if c := all.Tests("mon"); c != nil {
		t.Errorf("the target mon tests %+v", c)
	}
	all.Scopes[0].Checks[0].Hub = false
	if all.Valid() == nil {
		t.Error("a check without a tester is valid")
	}
	all, ds = Scopes(scopeTree(publish))
	if c := all.HubTests(); len(c) != 0 || len(all.Tests("mon")) != 1 || ds.Err() != nil {
		t.Errorf("with from, the hub tests %+v, %v", c, ds.Err())
	}
}

// TestKindsOfHubs: a repository adds a kind whose tasks hubs do, and a kind with members, and removes the built-in one.
func TestKindsOfHubs(t *testing.T) {
	const text = `scope_kind "universe" { enabled = false }
scope_kind "rack" { overlap = false }
scope_kind "account" { executor = "hub" }
target "a" { labels = { rack = "r1" } }
scope "r1" {
  kind   = "rack"
  labels = { rack = "r1" }
  task "load" { command = ["load"] }
}
scope "cloud" {
  kind = "account"
  task "register" {
    command = ["register"]
    secrets = { TOKEN = "hubs/tsig" }
  }
}
`
	all, ds := Scopes(scopeTree(text))
	if ds.Err() != nil || all.Valid() != nil {
		t.Fatal(ds.Err(), all.Valid())
	}
	if _, ok := all.HubTask("account/cloud", "register"); !ok {
		t.Errorf("hubs have no task: %+v", all)
	}
	if _, ok := all.HubTask("rack/r1", "load"); ok {
		t.Error("hubs have a task of members")
	}
	if _, ok := all.Task("rack/r1", "load", "a"); !ok {
		t.Error("a member has no task")
	}
	if _, ds := Scopes(scopeTree(text + "universe \"main\" {}\n")); !strings.Contains(texts(ds.Err()), "Unknown kind") {
		t.Errorf("a removed kind: %v", ds.Err())
	}
	redefined := strings.Replace(text, `"universe" { enabled = false }`, `"universe" { executor = "member" }`, 1) +
		"universe \"main\" { targets = [\"a\"] }\n"
	if all, ds := Scopes(scopeTree(redefined)); ds.Err() != nil || len(all.Scopes[2].Targets) != 1 {
		t.Errorf("a kind with another executor: %+v, %v", all.Scopes, ds.Err())
	}
}

func texts(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestBadUniverse: each error names its place.
func TestBadUniverse(t *testing.T) {
	const quorum = "universe \"x\" {\n  check \"a\" {\n    tcp    = \"a:1\"\n    quorum = 1\n  }\n}\n"
	const nested = "cluster \"y\" { targets = [\"*\"] }\ncluster \"x\" {\n  scopes = [\"cluster/y\"]\n" +
		"  check \"a\" { tcp = \"a:1\" }\n}\n"
	for text, want := range map[string]string{
		`universe "x" { targets = ["*"] }`:         "Members of a scope of hubs",
		`universe "x" { scopes = ["universe/y"] }`: "Members of a scope of hubs",
		`universe "x" { min_members = 1 }`:         "Members of a scope of hubs",
		`universe {}`:                              "Block needs one label",
		quorum:                                     "Only the leading hub tests this check",
		nested:                                     "Check without targets",
		`scope_kind "x" { executor = "agent" }`:    "Unknown value",
		`cluster "x" {}`:                           "Scope without members",
		task(`cluster "x"`, "targets = [\"*\"]", `{ A = "hubs/tsig" }`): "Secrets of a task of members",
		task(`universe "x"`, "", `{ A = "hubs/none" }`):                 "Unknown secret",
		task(`universe "x"`, "", `{ PATH = "hubs/tsig" }`):              "Bad name of a variable",
		task(`universe "x"`, "", `{ LD_PRELOAD = "hubs/tsig" }`):        "Bad name of a variable",
		task(`universe "x"`, "", `{ FETTLE_TASK_FENCE = "hubs/tsig" }`): "Bad name of a variable",
		task(`universe "x"`, "", `{ A = "../tsig" }`):                   "Bad name of a secret",
		task(`universe "x"`, "", `["hubs/tsig"]`):                       "Wrong type",
		task(`universe "x"`, "", `{ A = secret("hubs/tsig") }`):         "a scope cannot contain a secret",
	} {
		if _, ds := Scopes(scopeTree(text)); !strings.Contains(texts(ds.Err()), want) {
			t.Errorf("%s\ngives %v, want %q", text, ds.Err(), want)
		}
	}
}

// task returns a scope with a task that has secrets.
func task(scope, members, secrets string) string {
	return scope + " {\n  " + members + "\n  task \"t\" {\n    command = [\"true\"]\n    secrets = " + secrets +
		"\n  }\n}\n"
}

// TestUniverseInForms: all forms of the language declare a universe.
func TestUniverseInForms(t *testing.T) {
	for file, text := range map[string]string{
		"fettle.hcl":  "universe \"main\" {\n  task \"t\" { command = [\"true\"] }\n}\n",
		"fettle.yaml": "universe:\n  main:\n    task:\n      t:\n        command: [\"true\"]\n",
		"fettle.star": "def body():\n    task(\"t\", command = [\"true\"])\n\nuniverse(\"main\", body)\n",
	} {
		all, ds := Scopes(repo.MapTree(map[string]string{file: text}))
		if _, ok := all.HubTask("universe/main", "t"); !ok || ds.Err() != nil {
			t.Errorf("%s: %v", file, ds.Err())
		}
	}
}
