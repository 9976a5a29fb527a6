package compile_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// Modules that a fleet does not allow yet do not exist in the tree. Naming them, needing them or
// setting their variables is not an error.
func TestModulesThatWait(t *testing.T) {
	files := map[string]string{
		"fettle.hcl": `vars = { port = 80 }
target "web1" {
  modules = ["base", "web"]
  module "shop" {
    vars = { name = "x" }
  }
}
`,
		"modules/base/module.hcl": "needs \"web\" {}\nfile \"/etc/motd\" { content = \"x\" }\n",
	}
	for i, absent := range []string{`[]`, `["modules/shop"]`, `["modules/shop", "modules/web"]`} {
		files["enrolled.fettle.json"] = `{"enrolled": {"web1": {"labels": {"role": "web"}, "waits": ` + absent + `}}}`
		res, ds := compile.Compile(compile.Input{Tree: repo.MapTree(files), Target: "web1"})
		err := ds.Err()
		if i < 2 && (err == nil || !strings.Contains(err.Error(), "modules/web")) {
			t.Errorf("%q: %v", absent, err)
		}
		if i == 2 && (err != nil || len(res.List) != 1) {
			t.Errorf("%q: %v, %d steps", absent, err, len(res.List))
		}
	}
}
