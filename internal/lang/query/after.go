package query

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// StrategyAfter is a dependence on other targets: changes of Modules wait until Module is ready on enough of Targets.
type StrategyAfter struct {
	Module  string   // a directory
	Modules []string // directories
	Targets []string // names of the targets that it selects, sorted
	Ready   string   // a number of Targets, or a percentage such as "50%"
}

// after converts an after block, and reports modules that do not exist.
func after(p *source.Program, r *syntax.Reports, a *source.After, labels map[string]map[string]string) StrategyAfter {
	out := StrategyAfter{Module: directoryOf(a.Module), Ready: a.Ready}
	checkModule(p, r, &source.ModuleUse{Name: a.Module, Directory: out.Module, Range: a.Range})
	for _, m := range a.Modules {
		out.Modules = append(out.Modules, directoryOf(m))
		checkModule(p, r, &source.ModuleUse{Name: m, Directory: directoryOf(m), Range: a.Range})
	}
	for _, name := range syntax.SortedNames(labels) {
		if a.Selector.Matches(name, labels[name]) {
			out.Targets = append(out.Targets, name)
		}
	}
	return out
}

// directoryOf returns the directory of a module: names without a slash are below modules/.
func directoryOf(module string) string {
	if strings.Contains(module, "/") {
		return path.Clean(module)
	}
	return "modules/" + module
}

// edge leads from a module to a module that must be ready before.
type edge struct {
	to  string
	rng diag.Range
}

// dependences reports a cycle of after and needs blocks: none of its modules could ever begin. It ignores that they
// may be on different targets, because targets can get further modules at any time.
func dependences(p *source.Program, r *syntax.Reports) {
	edges, first := map[string][]edge{}, []string{}
	for _, s := range p.Strategies {
		for _, a := range s.Afters {
			for _, m := range a.Modules {
				first = append(first, directoryOf(m))
				edges[directoryOf(m)] = append(edges[directoryOf(m)], edge{directoryOf(a.Module), a.Range})
			}
		}
	}
	read := map[string]bool{}
	next := func(module string) []edge {
		if e, err := p.Tree.Stat(module); !read[module] && err == nil && e.Type == repo.Dir {
			read[module] = true
			body, _ := p.Module(module)
			for _, n := range body.Needs {
				edges[module] = append(edges[module], edge{directoryOf(n.Name), n.Range})
			}
		}
		return edges[module]
	}
	done := map[string]bool{}
	for _, m := range first {
		if findCycle(r, []edge{{to: m}}, next, done) {
			return
		}
	}
}

// findCycle reports a cycle that continues a path, and returns whether there is one.
func findCycle(r *syntax.Reports, way []edge, next func(string) []edge, done map[string]bool) bool {
	here := way[len(way)-1].to
	if i := slices.IndexFunc(way[:len(way)-1], func(e edge) bool { return e.to == here }); i >= 0 {
		reportCycle(r, way[i:])
		return true
	}
	if done[here] {
		return false
	}
	for _, e := range next(here) {
		if findCycle(r, append(way, e), next, done) {
			return true
		}
	}
	done[here] = true
	return false
}

func reportCycle(r *syntax.Reports, way []edge) {
	hops := []string{path.Base(way[0].to)}
	for _, e := range way[1:] {
		hops = append(hops, fmt.Sprintf("%s (at %s)", path.Base(e.to), e.rng))
	}
	d := diag.Errorf(way[1].rng, "Modules wait for each other",
		"Each of these modules waits for the next one: %s. Remove one of the after or needs blocks.",
		strings.Join(hops, " → "))
	for _, e := range way[2:] {
		d.Trace = append(d.Trace, e.rng)
	}
	r.Add(d)
}
