package compile

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/step"
)

// apt orders packages and apt-get update after the files of apt that are declared before them. A
// package that is declared before such a file stays before it. The name of a package does not show
// whether its source is new, and states between the two can need the package.
func (g *guesses) apt(n int) {
	var items []int
	for i := range n {
		if it := g.b.items[i]; !it.virtual && (it.step.Verb == step.Pkg || isAptUpdate(it.step) || inApt(it.step.Path())) {
			items = append(items, i)
		}
	}
	slices.SortStableFunc(items, func(x, y int) int { return g.b.items[x].node - g.b.items[y].node })
	files, lists := g.sinceThen("apt's sources"), g.sinceThen("apt's lists")
	for _, i := range items {
		switch s := g.b.items[i].step; {
		case s.Verb != step.Pkg && isAptUpdate(s):
			files.before(i, catalog.Likely)
			lists.add(i, "apt-get update")
		case s.Verb != step.Pkg:
			files.add(i, "apt's sources")
			lists.add(i, "apt's sources")
		case !s.Absent():
			lists.before(i, catalog.Faint)
		}
	}
}

// soFar is a chain of nodes. Each node is after all items that were added before it, so that n
// items that wait for m cost n+m arcs.
type soFar struct {
	g    *guesses
	name string
	last int  // of the chain, -1 for none
	used bool // an item waits for the last node: the next addition needs a new node
}

func (g *guesses) sinceThen(name string) *soFar { return &soFar{g: g, name: name, last: -1} }

// add makes all later uses wait for an item.
func (c *soFar) add(i int, why string) {
	if c.last < 0 || c.used {
		next := c.g.node(c.name)
		if c.last >= 0 {
			c.g.b.auto(c.last, next, catalog.Faint, c.name)
		}
		c.last, c.used = next, false
	}
	c.g.b.auto(i, c.last, catalog.Likely, why)
}

// before makes an item wait for all added items.
func (c *soFar) before(i int, s catalog.Strength) {
	if c.last >= 0 {
		c.used = true
		c.g.b.auto(c.last, i, s, c.name)
	}
}

func inApt(p string) bool { return strings.HasPrefix(p, "/etc/apt/") }

// isAptUpdate reports whether a step fetches apt's lists.
func isAptUpdate(s step.Step) bool {
	if s.Verb != step.Exec && s.Verb != step.Act || len(s.Args) < 3 {
		return false
	}
	argv := s.Args[1:]
	if s.Verb == step.Act {
		argv = s.Args[2:]
	}
	return len(argv) > 1 && (path.Base(argv[0]) == "apt-get" || path.Base(argv[0]) == "apt") &&
		slices.Contains(argv[1:], "update")
}
