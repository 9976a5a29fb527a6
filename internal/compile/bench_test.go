package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// manyFiles is a repository with n file states, each with typical attributes.
func manyFiles(n int) repo.Tree {
	files := map[string]string{}
	var b strings.Builder
	b.WriteString("variable \"domain\" {\n  default = \"example.org\"\n}\ndirectory \"/srv/data\" {}\n")
	part := 0
	for i := range n {
		fmt.Fprintf(&b, "file \"f%d\" {\n  path = \"/srv/data/%d.conf\"\n  content = \"name %d of ${var.domain} ${upper(\"x\")}\\n\"\n  owner = \"www-data\"\n  mode = %d > 5 ? \"0644\" : \"0600\"\n}\n", i, i, i, i)
		if b.Len() > 500_000 || i == n-1 {
			files[fmt.Sprintf("part%02d.hcl", part)] = b.String()
			b.Reset()
			part++
		}
	}
	return repo.MapTree(files)
}

func benchmark(b *testing.B, n int) {
	tree := manyFiles(n)
	b.ReportAllocs()
	for b.Loop() {
		res, ds := compile.Compile(compile.Input{Tree: tree})
		if ds.HasErrors() || len(res.List) != n+1 {
			b.Fatal(len(res.List), ds)
		}
	}
}

func Benchmark1000Files(b *testing.B)  { benchmark(b, 1000) }
func Benchmark10000Files(b *testing.B) { benchmark(b, 10000) }
