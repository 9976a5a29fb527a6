package catalog

import "slices"

// Strength says when an arc gives way. Where arcs contradict each other, the
// weakest ones of the contradiction are dropped first; hard ones never are.
type Strength uint8

const (
	// Hard is an order that the author or the machine requires.
	Hard Strength = iota
	// Strong gives way only to Hard.
	Strong
	// Likely is a guess from names.
	Likely
	// Faint is a guess that many others share.
	Faint
)

// Arc orders From before To.
type Arc struct {
	From, To int
	Strength Strength
	// Note is the caller's, to explain the arc with.
	Note int
}

// Graph is a set of arcs between the numbers 0 to n-1.
type Graph struct {
	out [][]Arc
}

// NewGraph makes a graph of n nodes without arcs.
func NewGraph(n int) *Graph { return &Graph{out: make([][]Arc, n)} }

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.out) }

// Node adds a node and gives its number.
func (g *Graph) Node() int {
	g.out = append(g.out, nil)
	return len(g.out) - 1
}

// Add adds an arc. An arc from a node to itself is kept: it is a cycle.
func (g *Graph) Add(a Arc) { g.out[a.From] = append(g.out[a.From], a) }

// Out are the arcs that leave a node. The slice belongs to the graph.
func (g *Graph) Out(n int) []Arc { return g.out[n] }

// Settle drops weak arcs, the faintest first, until they contradict nothing.
// It then gives a cycle of the arcs that are left, the shortest through its
// lowest node, or nil.
func (g *Graph) Settle() []Arc {
	for s := Faint; ; s-- {
		if g.acyclic() {
			return nil
		}
		comp, size := g.components()
		inside := func(a Arc) bool {
			return comp[a.From] == comp[a.To] && (size[comp[a.From]] > 1 || a.From == a.To)
		}
		if s == Hard {
			return g.cycle(inside)
		}
		for n := range g.out {
			g.out[n] = slices.DeleteFunc(g.out[n], func(a Arc) bool { return a.Strength == s && inside(a) })
		}
	}
}

// acyclic tells whether an order exists.
func (g *Graph) acyclic() bool {
	return len(g.forward()) == len(g.out)
}

func (g *Graph) incoming() []int {
	in := make([]int, len(g.out))
	for _, arcs := range g.out {
		for _, a := range arcs {
			in[a.To]++
		}
	}
	return in
}

// cycle finds the shortest way from a node back to itself through arcs that
// keep allows, for the lowest node that has one.
func (g *Graph) cycle(keep func(Arc) bool) []Arc {
	for start := range g.out {
		for _, a := range g.out[start] {
			if keep(a) {
				return g.wayBack(start, keep)
			}
		}
	}
	return nil
}

func (g *Graph) wayBack(start int, keep func(Arc) bool) []Arc {
	came := map[int]Arc{}
	queue := []int{start}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, a := range g.out[n] {
			if !keep(a) {
				continue
			}
			if a.To == start {
				path := []Arc{a}
				for n != start {
					path = append(path, came[n])
					n = came[n].From
				}
				slices.Reverse(path)
				return path
			}
			if _, ok := came[a.To]; !ok {
				came[a.To] = a
				queue = append(queue, a.To)
			}
		}
	}
	return nil
}
