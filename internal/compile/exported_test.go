package compile_test

import (
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// A test provides values that other targets export. Values that it omits are unknown. Unused values
// are an error.
func TestTestsGiveExportedValues(t *testing.T) {
	r := compile.Open(repo.MapTree(map[string]string{
		"fettle.hcl":             "target \"lb1\" { modules = [\"lb\"] }\n",
		"modules/web/module.hcl": "output \"address\" {\n  value    = \"10.0.0.1\"\n  type     = string\n  exported = true\n}\n",
		"modules/lb/module.hcl":  "exported \"backends\" {\n  module   = \"web\"\n  output   = \"address\"\n  targets  = [\"web1\"]\n  at_least = 1\n}\nfile \"/etc/lb\" { content = join(\",\", values(exported.backends)) }\n",
		"modules/lb/tests/lb.hcl": `test "known" {
  exported = { backends = { web1 = "10.1.1.1" } }
  expect { steps = ["COPY * /etc/lb"] }
}
test "unknown" {
  expect { deferred = ["file[\"/etc/lb\"]"] }
}
test "unused" {
  exported = { backends = { web1 = "10.1.1.1" }, other = {} }
  expect { error = "No state of the test uses exported.other" }
}
test "typed" {
  exported = { backends = { web1 = [] } }
  expect { error = "a string for each target" }
}
`}))
	ids, ds := r.Tests()
	if len(ids) != 4 || ds.HasErrors() {
		t.Fatal(ids, shown(ds))
	}
	for _, id := range ids {
		if v := r.RunTest(id); len(v.Failures) > 0 {
			t.Errorf("%s: %s", id, shown(v.Failures))
		}
	}
}
