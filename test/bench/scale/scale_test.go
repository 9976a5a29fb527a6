package scale_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/bench/scale"
)

const company = "../../../examples/company"

func Example() {
	files, err := scale.Files(company, 1000)
	fmt.Println(err, strings.Count(files["targets-000.hcl"], "target "), scale.Name(25))
	// Output: <nil> 1000 web25.ams.example.net
}

// The lists of a large fleet are those that its targets have alone.
func TestSame(t *testing.T) {
	tree, err := scale.Tree(company, 100)
	if err != nil {
		t.Fatal(err)
	}
	r := compile.Open(tree)
	f := compile.Open(tree).Fleet()
	for i := range 100 {
		list, ds := f.List(compile.Input{Target: scale.Name(i)})
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		if i%20 > 0 { // every one goes through the fleet, some are compiled alone
			continue
		}
		want, ds := r.Compile(compile.Input{Target: scale.Name(i)})
		if len(ds) > 0 || printed(t, list) != printed(t, want.List) {
			t.Fatalf("%s differs: %v", scale.Name(i), ds)
		}
	}
}

func printed(t *testing.T, list step.List) string {
	t.Helper()
	var b strings.Builder
	if err := step.Print(&b, list, step.PrintOptions{Source: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func BenchmarkFleet(b *testing.B) {
	tree, err := scale.Tree(company, 2000)
	if err != nil {
		b.Fatal(err)
	}
	f := compile.Open(tree).Fleet()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		list, ds := f.List(compile.Input{Target: scale.Name(i % 2000)})
		if ds.HasErrors() {
			b.Fatal(ds)
		}
		list.Digest()
	}
}

// changed is the repository with a line of a module that is another one.
func changed(b *testing.B, n int) (old, now repo.Tree) {
	files, err := scale.Files(company, n)
	if err != nil {
		b.Fatal(err)
	}
	old = repo.MapTree(maps.Clone(files))
	const module = "modules/base/module.hcl"
	files[module] = strings.Replace(files[module], "# See /etc/apt", "# Look at /etc/apt", 1)
	return old, repo.MapTree(files)
}

func BenchmarkRevisions(b *testing.B) {
	old, now := changed(b, 2000)
	r := compile.Open(now)
	both := compile.Between(r.Beside(old), r)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d, ds := both.Diff(compile.Input{}, compile.Compared{Target: scale.Name(i % 2000), Has: [2]bool{true, true}})
		if ds.HasErrors() || len(d.Changes) != 1 {
			b.Fatal(ds, d)
		}
	}
}
