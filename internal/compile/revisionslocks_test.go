package compile_test

import (
	"maps"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// TestRevisionsOfLocks: two revisions differ if only the locks of a state, or the declared locks, differ.
func TestRevisionsOfLocks(t *testing.T) {
	old := map[string]string{
		"fettle.hcl":            "target \"t\" {\n  modules = [\"m\", \"n\"]\n}\n",
		"locks.hcl":             "lock \"a\" {}\nlock \"b\" {}\n",
		"modules/m/module.hcl":  "directory \"/m\" { lock = \"a\" }\n",
		"modules/n/module.hcl":  "directory \"/n\" {}\nblock \"x\" {\n  directory \"/x\" {}\n}\n",
		"modules/n/unused.tmpl": "",
	}
	for name, c := range map[string]struct{ file, from, to, want, fails string }{
		"renamed":  {"modules/m/module.hcl", `"a"`, `"b"`, "MKDIR /m lock=b", ""},
		"removed":  {"modules/m/module.hcl", `lock = "a"`, ``, "MKDIR /m\n", ""},
		"added":    {"modules/n/module.hcl", `"/n" {}`, `"/n" { lock = ["a"] }`, "MKDIR /n lock=a", ""},
		"of block": {"modules/n/module.hcl", `block "x" {`, "block \"x\" {\n  lock = \"b\"", "MKDIR /x lock=b", ""},
		"declared": {"locks.hcl", "lock \"b\" {}\n", "lock \"c\" {}\n", "", ""},
		"gone":     {"locks.hcl", "lock \"a\" {}\n", "", "", "Unknown lock"},
		"nothing":  {"modules/n/unused.tmpl", "", "text", "", ""},
	} {
		now := maps.Clone(old)
		now[c.file] = strings.Replace(now[c.file], c.from, c.to, 1)
		fast := compile.Between(compile.Open(repo.MapTree(old)), compile.Open(repo.MapTree(now)))
		got, ds := fast.Diff(compile.Input{Target: "t"}, compile.Compared{Target: "t", Has: [2]bool{true, true}})
		text := step.FormatDiff(got.Changes)
		if (c.want == "") != (text == "") || !strings.Contains(text+"\n", c.want) || ds.HasErrors() != (c.fails != "") ||
			!strings.Contains(shown(ds), c.fails) {
			t.Errorf("%s: the difference is %q: %s", name, text, shown(ds))
		}
	}
}
