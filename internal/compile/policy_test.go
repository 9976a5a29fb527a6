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

// TestPolicyOfFailedChecks: undo is stored with the older word rollback, which executors know.
func TestPolicyOfFailedChecks(t *testing.T) {
	for word, want := range map[string]string{"undo": "rollback", "keep": "keep"} {
		tree := repo.MapTree(map[string]string{"fettle.hcl": `
policy { on_check_failure = "` + word + `" }
target "web1" {}
`})
		res, ds := compile.Compile(compile.Input{Tree: tree})
		if ds.HasErrors() || res.Policy.OnCheckFailure != want {
			t.Errorf("%s: policy %+v, want %s: %v", word, res.Policy, want, ds)
		}
	}
}
