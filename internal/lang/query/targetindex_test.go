package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// TestTargetIndex: the index selects the same targets as a comparison with each target.
func TestTargetIndex(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		pick := func(of ...string) string { return of[dice.IntN(len(of))] }
		for i := range dice.IntN(8) {
			fmt.Fprintf(&text, "target \"t%d\" {\n  labels = { %s = \"%s\", b = \"%s\" }\n}\n", i, pick("a", "c"),
				pick("x", "y"), pick("x", "y"))
		}
		for i := range 10 {
			targets := fmt.Sprintf("  targets = [%q, %q]\n", pick("t*", "t1", "t[0-3]", "/t[4-7]/", "none"),
				pick("t1", "t2", "t?"))
			labels := fmt.Sprintf("  labels = { a = %s, %s = \"y\" }\n", pick(`"x"`, `"*"`, `["x", "y", "x"]`, `"z"`, `[]`),
				pick("b", "c"))
			body := [][]string{{targets}, {labels}, {targets, labels}, {"  targets = []\n"}, {"  labels = {}\n"}}[dice.IntN(5)]
			fmt.Fprintf(&text, "cluster \"c%d\" {\n%s}\n", i, strings.Join(body, ""))
		}
		p, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": text.String()}), source.Options{})
		if ds.HasErrors() {
			t.Fatal(ds, text.String())
		}
		r := &syntax.Reports{}
		x := indexTargets(p, r)
		for _, s := range p.Scopes {
			var want []string
			for _, target := range p.Targets {
				if s.Members.Matches(target.Name, TargetLabels(p, r, target)) {
					want = append(want, target.Name)
				}
			}
			for range 2 { // also from the memory
				if got := x.selected(s.Members); !slices.Equal(got, want) {
					t.Fatalf("seed %d: %s selects %v, want %v\n%s", seed, s.ID(), got, want, text.String())
				}
			}
		}
	}
}
