package compile

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

// BenchmarkScopes reads the scopes of 10,000 targets in 200 clusters or environments, as a hub does for each commit.
func BenchmarkScopes(b *testing.B) {
	for _, block := range []string{"cluster", "environment"} {
		var text strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&text, "target \"t%05d\" { labels = { scope = \"c%d\" } }\n", i, i%200)
		}
		for i := range 200 {
			fmt.Fprintf(&text, "%s \"c%d\" {\n  labels = { scope = \"c%d\" }\n  check \"a\" {\n    tcp  = \"a:1\"\n"+
				"    from = [\"t0000*\"]\n  }\n  task \"b\" { command = [\"true\"] }\n}\n", block, i, i)
		}
		tree := repo.MapTree(map[string]string{"fettle.hcl": text.String()})
		for name, read := range map[string]func(*Repository) int{
			"open":    func(*Repository) int { return 0 },
			"scopes":  func(r *Repository) int { s, _ := r.Scopes(); return len(s.Scopes) },
			"targets": func(r *Repository) int { s, _ := r.Targets(); return len(s) },
		} {
			b.Run(block+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if n := read(Open(tree)); n != 200 && name == "scopes" {
						b.Fatal(n)
					}
				}
			})
		}
	}
}
