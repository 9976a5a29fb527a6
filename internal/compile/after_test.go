package compile_test

import (
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// aftersOf returns the dependences of a rollout r with some blocks. The repository has the modules web, db and cache.
func aftersOf(blocks, cacheNeeds string) ([]query.StrategyAfter, diag.List) {
	list, ds := compile.Strategies(repo.MapTree(map[string]string{
		"fettle.hcl": "rollout \"r\" {\n  wave \"all\" {}\n" + blocks + "\n}\n" +
			"target \"db2\" {}\ntarget \"db1\" {}\ntarget \"web1\" { labels = { site = \"a\" } }\n",
		"modules/web/module.hcl": "needs \"cache\" {}\n", "modules/db/module.hcl": "",
		"modules/cache/module.hcl": cacheNeeds}))
	if len(list) == 0 {
		return nil, ds
	}
	return list[0].Afters, ds
}

func TestAfter(t *testing.T) {
	got, ds := aftersOf(`
  after "db" {
    targets = ["db*"]
    modules = ["web"]
  }
  after "modules/cache" {
    labels  = { site = "*" }
    modules = ["db", "modules/web"]
    ready   = 2
  }`, "")
	want := []query.StrategyAfter{
		{Module: "modules/db", Modules: []string{"modules/web"}, Targets: []string{"db1", "db2"}, Ready: "100%"},
		{Module: "modules/cache", Modules: []string{"modules/db", "modules/web"}, Targets: []string{"web1"}, Ready: "2"}}
	if len(ds) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, ds)
	}
}

// TestLimitsAreWrong: a limit is a whole number of at least 1.
func TestLimitsAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`spread = "rack"`: "spread must be an object", `spread = { label = "rack" }`: "spread must be an object",
		`spread = { label = "", max = 1 }`: "spread must be", `spread = { label = "rack", max = 0 }`: "spread must be",
		`spread = { label = "rack", max = 1, min = 1 }`: "spread must be", `rate = 0`: "rate must be a whole number",
		`rate = "10%"`: "rate must be a whole number", `rate = 1.5`: "rate must be a whole number",
	} {
		if _, ds := aftersOf(text, ""); ds.Err() == nil || !strings.Contains(ds.Err().Error(), want) {
			t.Errorf("%s: %v", text, ds)
		}
	}
}

// TestAfterIsWrong: a cycle is reported with its modules, also if it leads through the needs of modules.
func TestAfterIsWrong(t *testing.T) {
	const all, web = `targets = ["*"]`, `modules = ["web"]`
	for want, text := range map[string][2]string{
		"web → web (at fettle.hcl:4": {"\nafter \"web\" {\n" + all + "\n" + web + "\n}", ""},
		"web → db (at fettle.hcl:3:7) → cache (at fettle.hcl:7:7) → web (at modules/cache/module.hcl:1:7)": {
			"after \"db\" {\n" + all + "\n" + web + "\n}\nafter \"cache\" {\n" + all + "\nmodules = [\"db\"]\n}",
			"needs \"web\" {}"},
		"There is no directory modules/dc in the repository": {"after \"dc\" {\n" + all + "\n" + web + "\n}", ""},
		"There is no directory modules/wep":                  {"after \"db\" {\n" + all + "\nmodules = [\"wep\"]\n}", ""},
		"modules must contain at least one name":             {"after \"db\" {\n" + all + "\nmodules = []\n}", ""},
		`Set modules = ["web"]`:                              {"after \"db\" {\n" + web + "\n}", ""},
		"already has an after block": {
			"after \"db\" {\n" + all + "\n" + web + "\n}\nafter \"db\" {\n" + all + "\n" + web + "\n}", ""},
		"ready must be at least 1": {"after \"db\" {\n" + all + "\n" + web + "\nready = 0\n}", ""},
	} {
		got, ds := aftersOf(text[0], text[1])
		if err := ds.Err(); err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, got, err)
		}
	}
}
