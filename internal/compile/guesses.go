package compile

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/step"
)

// guesses is the order that follows from names: files that a package ships, files that a service
// reads, prerequisites of apt. A guess yields to any explicit order. Each guess that many items
// share is a separate node, so that n packages and m files cost n+m arcs.
type guesses struct {
	b     *builder
	ships map[string]int // node after the packages of a name
	goes  map[string]int // node before packages of a name that are removed
	reads map[string]int // node after the files below /etc of a name
	gone  int            // node after all removals
}

func newGuesses(b *builder) *guesses {
	return &guesses{b: b, ships: map[string]int{}, goes: map[string]int{}, reads: map[string]int{}, gone: -1}
}

// link processes the first n items, which are not guesses.
func (g *guesses) link(n int) {
	g.gone = g.node("the removed object")
	for i := range n { // providers before users
		if s := g.b.items[i].step; !g.b.items[i].virtual {
			g.provide(i, s)
		}
	}
	for i := range n {
		if s := g.b.items[i].step; !g.b.items[i].virtual {
			g.ask(i, s)
		}
	}
	g.apt(n)
}

func (g *guesses) node(name string) int { return g.b.virtual(name, -1) }

func (g *guesses) named(m map[string]int, name string) int {
	i, ok := m[name]
	if !ok {
		i = g.node(name)
		m[name] = i
	}
	return i
}

// stems returns the names that match a package: its own, and the part before the first dash.
func stems(pkg string) []string {
	pkg, _, _ = strings.Cut(pkg, ":")
	short, _, dashed := strings.Cut(pkg, "-")
	if !dashed || short == "" {
		return []string{pkg}
	}
	return []string{pkg, short}
}

func (g *guesses) provide(i int, s step.Step) {
	switch {
	case s.Verb == step.Pkg:
		for _, name := range stems(s.Args[0]) {
			if s.Absent() {
				g.b.auto(g.named(g.goes, name), i, catalog.Faint, "the package")
			} else {
				g.b.auto(i, g.named(g.ships, name), catalog.Likely, "the package")
			}
		}
	case s.Verb == step.Rm:
		g.b.auto(i, g.gone, catalog.Likely, "the removed object")
	case s.Path() != "" && !inApt(s.Path()):
		if name := etcName(s.Path()); name != "" {
			g.b.auto(i, g.named(g.reads, name), catalog.Likely, "its configuration")
		}
	}
}

func (g *guesses) ask(i int, s step.Step) {
	switch s.Verb {
	case step.Unit:
		g.askUnit(i, s)
	case step.Exec:
		g.after(g.ships, path.Base(s.Args[1]), i, "the package of the command")
	case step.User, step.Group:
		if s.Absent() {
			g.b.auto(g.gone, i, catalog.Faint, "the removed object")
		}
	case step.Copy:
		if words, err := step.SplitWords(s.Get("validate")); err == nil && len(words) > 0 {
			g.after(g.ships, path.Base(words[0]), i, "the package of validate")
		}
	}
	if p := s.Path(); p != "" && !inApt(p) {
		g.askPath(i, s, p)
	}
}

// after orders an item after the provider of a name, if there is one.
func (g *guesses) after(m map[string]int, name string, i int, why string) {
	if n, ok := m[name]; ok {
		g.b.auto(n, i, catalog.Faint, why)
	}
}

// askPath orders a path after the packages whose name is a part of it.
func (g *guesses) askPath(i int, s step.Step, p string) {
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	if !slices.Contains([]string{"etc", "usr", "var", "srv", "lib", "opt"}, parts[0]) {
		return
	}
	for _, name := range parts[1:] {
		if s.Absent() {
			if n, ok := g.goes[name]; ok {
				g.b.auto(i, n, catalog.Likely, "a file of the package")
			}
			continue
		}
		g.after(g.ships, name, i, "the package of "+name)
	}
}

// askUnit orders a unit after its package and its configuration. A unit that is stopped precedes
// the removal of its package.
func (g *guesses) askUnit(i int, s step.Step) {
	name := strings.TrimSuffix(s.Args[0], path.Ext(s.Args[0]))
	name, _, _ = strings.Cut(name, "@")
	g.after(g.ships, name, i, "the package of the unit")
	g.after(g.reads, name, i, "its configuration")
	if n, ok := g.goes[name]; ok {
		g.b.auto(i, n, catalog.Likely, "the unit of the package")
	}
}

// etcName returns the name of the service that a path below /etc belongs to: /etc/nginx/… and
// /etc/default/nginx belong to nginx.
func etcName(p string) string {
	rest, ok := strings.CutPrefix(p, "/etc/")
	if !ok {
		return ""
	}
	rest = strings.TrimPrefix(rest, "default/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
