package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// declared is a state of a random repository.
type declared struct {
	kind  string // package, apt or exec
	after []int
}

func drawDeclared(t *rapid.T) []declared {
	n := rapid.IntRange(2, 12).Draw(t, "states")
	rank := rapid.Permutation(indexes(n)).Draw(t, "rank") // after points downwards in it, so there is no cycle
	out := make([]declared, n)
	for i := range out {
		out[i].kind = rapid.SampledFrom([]string{"package", "exec", "exec", "apt"}).Draw(t, "kind")
		for j := range n {
			if rank[j] < rank[i] && rapid.IntRange(0, 7).Draw(t, "after") == 0 {
				out[i].after = append(out[i].after, j)
			}
		}
	}
	return out
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (d declared) name(i int) string {
	return map[string]string{"package": "package.p%d", "apt": `file["/etc/apt/apt.conf.d/f%d"]`,
		"exec": "exec.x%d"}[d.kind]
}

func declaredText(states []declared) string {
	var b strings.Builder
	for i, d := range states {
		var after []string
		for _, j := range d.after {
			after = append(after, fmt.Sprintf(states[j].name(j), j))
		}
		head := map[string]string{"package": "package \"p%d\" {\n",
			"apt":  "file \"/etc/apt/apt.conf.d/f%d\" {\n  content = \"\"\n",
			"exec": "exec \"x%d\" {\n  command = [\"/x\"]\n"}[d.kind]
		fmt.Fprintf(&b, head+"  after = [%s]\n}\n", i, strings.Join(after, ", "))
	}
	return b.String()
}

// needs adds the states that a state needs, including itself: explicit references, and for packages
// the files of apt that are declared earlier.
func needs(states []declared, i int, out map[int]bool) {
	if out[i] {
		return
	}
	out[i] = true
	for _, j := range states[i].after {
		needs(states, j, out)
	}
	for j := range i {
		if states[i].kind == "package" && states[j].kind == "apt" {
			needs(states, j, out)
		}
	}
}

// A package precedes every state that is declared after it, except states that it or an earlier
// package needs. Explicit order always holds.
func TestPackagesKeepTheirPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := drawDeclared(t)
		text := declaredText(states)
		res, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": text})})
		if ds.HasErrors() {
			t.Fatalf("%v\n%s", ds, text)
		}
		pos := make([]int, len(states))
		for i, d := range states {
			pos[i] = slices.IndexFunc(res.List, func(s step.Step) bool {
				return s.Args[len(s.Args)-1] == fmt.Sprintf("/etc/apt/apt.conf.d/f%d", i) && d.kind == "apt" ||
					s.Args[0] == fmt.Sprintf("%c%d", d.kind[0], i) || s.Args[0] == fmt.Sprintf("x%d", i) && d.kind == "exec"
			})
		}
		needed := map[int]bool{}
		for p, d := range states {
			for _, j := range d.after {
				if pos[j] > pos[p] {
					t.Fatalf("%d is after %d by what is written:\n%s\n%s", p, j, text, res.List)
				}
			}
			if d.kind != "package" {
				continue
			}
			needs(states, p, needed)
			for s := p + 1; s < len(states); s++ {
				if states[s].kind != "package" && pos[s] < pos[p] && !needed[s] {
					t.Fatalf("state %d comes before the package %d:\n%s\n%s", s, p, text, res.List)
				}
			}
		}
	})
}

// A package that is declared before a file of apt stays before it, where nothing
// that is written says otherwise.
func TestSourcesKeepTheirPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := drawDeclared(t)
		for i := range states {
			states[i].after = nil
		}
		res, _ := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": declaredText(states)})})
		sources := 0
		for _, s := range res.List {
			if s.Verb == step.Copy {
				sources++
			}
			if s.Verb != step.Pkg {
				continue
			}
			var p, before int
			fmt.Sscanf(s.Args[0], "p%d", &p)
			for _, d := range states[:p] {
				if d.kind == "apt" {
					before++
				}
			}
			if before != sources {
				t.Fatalf("%s comes behind %d files of apt and not %d:\n%s", s, sources, before, res.List)
			}
		}
	})
}
