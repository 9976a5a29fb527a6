package compile_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// TestEnvironmentBetweenRevisions: a change of an environment changes exactly the lists that contain its values.
func TestEnvironmentBetweenRevisions(t *testing.T) {
	files := func(domain, size, unused string) map[string]string {
		return map[string]string{"modules/m/module.hcl": "variable \"size\" {}\nvariable \"unused\" {}\n" +
			"file \"/domain\" { content = \"${target.name} ${environment.domain}\" }\n" +
			"file \"/size\" { content = \"${target.name} ${var.size}\" }\n",
			"environments.hcl": fmt.Sprintf("environment \"e\" {\n  targets = [\"a*\"]\n  domain = %q\n"+
				"  vars = { size = %q, unused = %q }\n}\n", domain, size, unused),
			"targets.hcl": "target_group \"g\" {\n  targets = [\"*\"]\n  modules = [\"m\"]\n}\n" +
				"target \"a1\" {}\ntarget \"a2\" {}\ntarget \"b1\" { vars = { size = \"1\", unused = \"1\" } }\n"}
	}
	for _, c := range []struct {
		name  string
		after map[string]string
		want  int // changed files of a1 and of a2
	}{
		{"nothing", files("a.org", "1", "1"), 0}, {"domain", files("b.org", "1", "1"), 1},
		{"variable", files("a.org", "2", "1"), 1}, {"unused variable", files("a.org", "1", "2"), 0},
		{"both", files("b.org", "2", "1"), 2},
	} {
		before := repo.MapTree(files("a.org", "1", "1"))
		fast := compile.Between(compile.Open(before), compile.Open(repo.MapTree(c.after)))
		for _, target := range []string{"a1", "a2", "b1"} {
			want := c.want
			if target == "b1" {
				want = 0
			}
			got, ds := fast.Diff(compile.Input{Target: target}, compile.Compared{Target: target, Has: [2]bool{true, true}})
			if ds.HasErrors() || len(got.Changes) != want {
				t.Errorf("%s: %s has %d changes, not %d: %s%s", c.name, target, len(got.Changes), want,
					step.FormatDiff(got.Changes), shown(ds))
			}
		}
	}
}
