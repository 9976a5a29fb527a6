package stdlib_test

import (
	"io/fs"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/kind/kindtest"
	"fettle.dev/fettle/internal/kind/stdlib"
)

func TestGolden(t *testing.T) {
	kindtest.Run(t, kindtest.Options{Kinds: kinds.All(), Stdlib: stdlib.Files()})
}

// TestDocumented demands a sentence for every kind and every attribute.
func TestDocumented(t *testing.T) {
	names, err := fs.Glob(stdlib.Files(), "*.hcl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range names {
		src, err := fs.ReadFile(stdlib.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		f, ds := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		for _, define := range f.Body.(*hclsyntax.Body).Blocks {
			if define.Body.Attributes["description"] == nil {
				t.Errorf("%s: the kind %s has no description", name, define.Labels[0])
			}
			for _, b := range define.Body.Blocks {
				if b.Type == "variable" && b.Body.Attributes["description"] == nil {
					t.Errorf("%s: %s.%s has no description", name, define.Labels[0], b.Labels[0])
				}
			}
		}
	}
	kindtest.Documented(t, kinds.All())
}
