package scale_test

import (
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/test/scale"
)

const company = "../../examples/company"

func BenchmarkCompile(b *testing.B) {
	tree, err := scale.Tree(company, 400)
	if err != nil {
		b.Fatal(err)
	}
	r := compile.Open(tree)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ds := r.Compile(compile.Input{Target: scale.Name(i % 400)}); ds.HasErrors() {
			b.Fatal(ds)
		}
		i++
	}
}
