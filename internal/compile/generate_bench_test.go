package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// manyTargets returns a repository with n targets in two forms: made from a data file, and written one by one.
func manyTargets(n int) (made, written repo.Tree) {
	var data, text strings.Builder
	text.WriteString(manyCommon)
	data.WriteString("name,env,rack,port\n")
	for i := range n {
		env, rack := []string{"prod", "test", "dev"}[i%3], i%40
		fmt.Fprintf(&data, "web%05d,%s,r%d,%d\n", i, env, rack, 1024+i)
		fmt.Fprintf(&text, "target \"web%05d\" {\n  labels = { env = %q, rack = \"r%d\" }\n", i, env, rack)
		fmt.Fprintf(&text, "  roles  = [\"web\"]\n  vars   = { port = %d }\n}\n", 1024+i)
	}
	files := map[string]string{"modules/web/web.hcl": portModule, "inventory.csv": data.String(),
		"fettle.hcl": manyCommon + "target \"web\" {\n" +
			"  for_each = { for r in csvdecode(file(\"inventory.csv\")) : r.name => r }\n" +
			"  labels = { env = each.value.env, rack = each.value.rack }\n  roles = [\"web\"]\n" +
			"  vars = { port = each.value.port }\n}\n"}
	parts := map[string]string{"modules/web/web.hcl": portModule}
	whole := text.String()
	for i := 0; whole != ""; i++ { // no file is larger than the limit
		cut := len(whole)
		if cut > 800_000 {
			cut = strings.LastIndex(whole[:800_000], "\n}\n") + 3
		}
		parts[fmt.Sprintf("part%02d.hcl", i)], whole = whole[:cut], whole[cut:]
	}
	return repo.MapTree(files), repo.MapTree(parts)
}

const manyCommon = "role \"web\" { modules = [\"web\"] }\ntarget_group \"prod\" {\n  labels = { env = \"prod\" }\n}\n"

// benchmarkTargets compiles the list of each target.
func benchmarkTargets(b *testing.B, tree repo.Tree, n int) {
	b.ReportAllocs()
	for b.Loop() {
		targets, ds := compile.Targets(tree)
		if ds.HasErrors() || len(targets) != n {
			b.Fatal(len(targets), ds)
		}
		f := compile.Open(tree).Fleet()
		for _, t := range targets {
			if list, ds := f.List(compile.Input{Tree: tree, Target: t.Name}); ds.HasErrors() || len(list) != 1 {
				b.Fatal(len(list), ds)
			}
		}
	}
}

func Benchmark10000MadeTargets(b *testing.B) {
	made, _ := manyTargets(10_000)
	benchmarkTargets(b, made, 10_000)
}

func Benchmark10000WrittenTargets(b *testing.B) {
	_, written := manyTargets(10_000)
	benchmarkTargets(b, written, 10_000)
}
