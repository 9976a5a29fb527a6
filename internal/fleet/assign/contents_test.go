package assign_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// Compiled targets become assignments: uses in one directory are one module, and uses outside of
// modules belong to the root bundle.
func TestTargetsOf(t *testing.T) {
	enrolled := []fleet.Target{
		{ID: idOf("web1"), Name: "web1", Standing: fleet.Active, Labels: map[string]string{"role": "web", "rack": "a"}},
		{ID: idOf("web2"), Name: "web2", Standing: fleet.Active, Labels: map[string]string{"role": "web"}},
		{ID: idOf("db1"), Name: "db1", Standing: fleet.Active},
		{ID: idOf("new"), Name: "new", Standing: fleet.Pending, Labels: map[string]string{"role": "web"}},
		{ID: idOf("bad"), Name: "bad", Standing: fleet.Active, Labels: map[string]string{"role": "bad"}},
		{ID: idOf("odd"), Name: "odd", Standing: fleet.Active, Labels: map[string]string{"role": "odd"}},
	}
	needs := func(names ...string) string { return "needs \"" + strings.Join(names, "\" {}\nneeds \"") + "\" {}\n" }
	list, ds := compile.Targets(repo.MapTree(map[string]string{
		"fettle.hcl": `layer = ["base"]
target "web1" { labels = { rack = "z" } }
target_group "all" {
  labels  = {}
  modules = ["base"]
}
target_group "web" {
  labels  = { role = "web" }
  modules = ["shop", "db"]
  module "second" { source = "modules/shop" }
  module "elsewhere" { source = "services/x" }
}
target_group "bad" {
  labels  = { role = "bad" }
  modules = ["shop"]
}
target_group "odd" {
  labels  = { role = "odd" }
  module "p" { source = "modules/x/p" }
  module "q" { source = "modules/x/q" }
  modules = ["mid"]
}
`,
		fleet.EnrolledFile:        string(assign.EnrolledText(enrolled)),
		"modules/base/a.hcl":      "",
		"modules/db/a.hcl":        `needs "base" { level = "version" }`,
		"modules/shop/module.hcl": needs("db"),
		"services/x/module.hcl":   needs("db", "second"),
		"modules/x/p/module.hcl":  needs("mid"),
		"modules/x/q/module.hcl":  "",
		"modules/mid/module.hcl":  needs("q"),
	}))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	all := assign.TargetsOf(list)
	if len(all) != 5 || all["web1"].Labels["rack"] != "z" || all["web1"].Labels["role"] != "web" {
		t.Errorf("%+v", all)
	}
	if a, b := all["web1"].Modules, all["web2"].Modules; &a[0] != &b[0] {
		t.Error("targets that have the same modules do not share them")
	}
	for name, want := range map[string]string{
		"web1": "[{modules/base [] [target group all (fettle.hcl:5:14)]} {modules/shop [{modules/base availability true} {modules/db availability false}] [target group web (fettle.hcl:9:14) target group web (fettle.hcl:10:30)]} " +
			"{modules/db [{modules/base version false}] [target group web (fettle.hcl:9:22)]}] []",
		"db1": "[{modules/base [] [target group all (fettle.hcl:5:14)]}] []",
		"bad": `[{modules/base [] [target group all (fettle.hcl:5:14)]} {modules/shop [{modules/base availability true}] [target group bad (fettle.hcl:15:14)]}] [modules/shop/module.hcl:1:7: error: Needed module is missing`,
		"odd": "[modules/mid needs modules/x, which needs modules/mid]",
	} {
		if got := fmt.Sprint(all[name].Modules, all[name].Errors); !strings.Contains(got, want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Targets with equal labels share memory.
func TestTargetsShareLabels(t *testing.T) {
	var list []query.Target
	for i := range 3 {
		list = append(list, query.Target{Name: fmt.Sprint(i), Labels: map[string]string{"odd": fmt.Sprint(i % 2)}})
	}
	got := assign.TargetsOf(list)
	at := func(name string) uintptr { return reflect.ValueOf(got[name].Labels).Pointer() }
	if at("0") != at("2") || at("0") == at("1") || got["1"].Labels["odd"] != "1" {
		t.Errorf("%v", got)
	}
}
