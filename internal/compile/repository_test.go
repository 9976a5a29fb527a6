package compile_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// fleet has targets that share modules: valid ones, a module that does not parse, a module with a
// missing variable, and a variable that only another module declares.
const fleet = `
data = ["data/all.yaml"]
vars = { only_b = 1 }
role "a" { modules = ["a"] }
target "one" { roles = ["a"] }
target "two" {
  roles = ["a"]
  vars  = { name = "two" }
}
target "broken" { modules = ["broken", "a"] }
target "missing" { modules = ["missing"] }
target "b" {
  modules = ["b", "a"]
  labels  = { unused = "x" }
}
target "unknown" { modules = ["nosuch"] }
`

func fleetTree() repo.Tree {
	files := map[string]string{
		"fettle.hcl":                fleet,
		"data/all.yaml":             "name: all\n",
		"modules/a/a.hcl":           "variable \"name\" {}\nfile \"/etc/a\" {\n  template = \"t.tmpl\"\n  vars = { n = var.name }\n}\nexec \"a\" { command = [var.name, target.name] }\n",
		"modules/a/t.tmpl":          "name ${n}\n",
		"modules/b/b.hcl":           "variable \"only_b\" {}\nfact \"x\" {\n  type = string\n  default = \"d\"\n}\nfile \"/etc/b\" {\n  content = \"${var.only_b}${fact.x}\"\n}\n",
		"modules/broken/broken.hcl": "file \"/x\" {\n  contnt = \"\"\n}\nnonsense \"y\" {}\n",
		"modules/missing/m.hcl":     "variable \"none\" {}\n",
	}
	return repo.MapTree(files)
}

// TestRepositoryHasNoMemory: the result of a target does not depend on earlier compilations from
// the same repository.
func TestRepositoryHasNoMemory(t *testing.T) {
	tree := fleetTree()
	targets := []string{"one", "two", "broken", "missing", "b", "unknown", "none"}
	facts := map[string]cty.Value{}
	fresh := map[string]string{}
	for _, name := range targets {
		res, ds := compile.Compile(compile.Input{Tree: tree, Target: name, Facts: facts})
		fresh[name] = fmt.Sprintf("%s\n%v %v\n%v", res.List, res.Files, res.FactsUsed, ds)
	}
	for _, name := range []string{"broken", "missing", "unknown", "none"} {
		if _, ds := compile.Compile(compile.Input{Tree: tree, Target: name, Facts: facts}); !ds.HasErrors() {
			t.Errorf("%s compiles", name)
		}
	}
	backwards := slices.Clone(targets)
	slices.Reverse(backwards)
	r := compile.Open(tree)
	for _, name := range slices.Concat(targets, backwards, targets) {
		res, ds := r.Compile(compile.Input{Target: name, Facts: facts})
		if got := fmt.Sprintf("%s\n%v %v\n%v", res.List, res.Files, res.FactsUsed, ds); got != fresh[name] {
			t.Errorf("%s, after others:\n%s\nalone:\n%s", name, got, fresh[name])
		}
	}
}
