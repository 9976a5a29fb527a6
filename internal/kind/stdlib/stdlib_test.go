package stdlib_test

import (
	"io/fs"
	"regexp"
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

// inverse is what every description ends with.
var inverse = regexp.MustCompile(`[.] Undone (completely|partly: .|by the author: .)([^.]|[.][^ ])*[.]$`)

// described is the text of a kind's description, "" when it has none.
func described(define *hclsyntax.Block) string {
	a := define.Body.Attributes["description"]
	if a == nil {
		return ""
	}
	v, ds := a.Expr.Value(nil)
	if ds.HasErrors() {
		return ""
	}
	return v.AsString()
}

// TestDocumented demands a sentence for every kind and every attribute, and of
// every kind how it is undone.
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
			if text := described(define); !inverse.MatchString(text) {
				t.Errorf("%s: the description of %s does not say how it is undone: %q", name, define.Labels[0], text)
			}
			if define.TypeRange.Start.Column != 1 {
				t.Errorf("%s: define %s does not begin its line, so nobody finds it", name, define.Labels[0])
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
