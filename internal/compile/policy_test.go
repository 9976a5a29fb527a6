package compile_test

import (
	"testing"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

func TestTargetsPolicyWinsAttributeByAttribute(t *testing.T) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": `
policy {
  on_failure = "undo"
  drift      = "report"
}
target "web1" {
  policy { drift = "repair" }
}
`})
	res, ds := compile.Compile(compile.Input{Tree: tree})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if want := (catalog.Policy{OnFailure: "undo", Drift: "repair"}); res.Policy != want {
		t.Errorf("policy %+v, want %+v", res.Policy, want)
	}
}
