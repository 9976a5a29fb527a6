package compile_test

import (
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// TestRolloutsChangeNoList: neither a strategy nor the name of one changes the result for a target.
func TestRolloutsChangeNoList(t *testing.T) {
	const plain = "rollout \"r\" {\n  wave \"a\" {}\n}\n"
	tree := func(top, group, own, rollouts string) repo.Tree {
		return repo.MapTree(map[string]string{
			"fettle.hcl": `policy { ` + top + ` }
target_group "all" {
  targets = ["*"]
  policy { ` + group + ` }
}
target "web1" {
  modules = ["web"]
  policy { ` + own + ` }
}
target "web2" { modules = ["web"] }
target "web3" { modules = ["web"] }
`,
			"rollouts.hcl":           rollouts,
			"modules/web/module.hcl": "file \"/etc/motd\" { content = \"${target.name}\\n\" }\n",
		})
	}
	old := tree("", "", "", plain)
	want, ds := compile.Compile(compile.Input{Tree: old, Target: "web1"})
	if ds.HasErrors() || len(want.List) != 1 {
		t.Fatal(want.List, ds)
	}
	for name, now := range map[string]repo.Tree{
		"top": tree(`rollout = "r"`, "", "", plain), "group": tree("", `rollout = "at-once"`, "", plain),
		"target":  tree("", "", `rollout = "careful"`, plain),
		"another": tree("", "", "", strings.Replace(plain, `"r"`, `"s"`, 1)),
		"waves":   tree("", "", "", waves), "none": tree("", "", "", ""),
	} {
		got, ds := compile.Compile(compile.Input{Tree: now, Target: "web1"})
		if got.Blobs = want.Blobs; ds.HasErrors() || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v: %v", name, got, want, ds)
		}
		between := compile.Between(compile.Open(old), compile.Open(now))
		for _, target := range []string{"web1", "web2", "web3"} {
			d, ds := between.Diff(compile.Input{}, compile.Compared{Target: target, Has: [2]bool{true, true}})
			if len(ds) > 0 || len(d.Changes) > 0 {
				t.Errorf("%s: %+v: %v", name, d, ds)
			}
		}
		if compile.Taken(between) != 1 { // the second target without a policy of its own
			t.Errorf("%s: %d lists were reused", name, compile.Taken(between))
		}
	}
}
