package graph

import (
	"cmp"
	"math"
	"slices"
)

// links are the neighbours of the nodes of a graph without cycles.
type links struct {
	edges     []Edge // each from an earlier to a later node
	into, out [][]int
}

// acyclic returns the edges of a graph without cycles. It reverses each edge that closes a cycle or leads to an earlier
// band, and gives it the style Cycle.
func acyclic(g *Graph) *links {
	l := &links{into: make([][]int, len(g.Nodes)), out: make([][]int, len(g.Nodes))}
	edges := g.valid()
	next := make([][]int, len(g.Nodes))
	for _, e := range edges {
		next[e.From] = append(next[e.From], e.To)
	}
	place := finished(next)
	for _, e := range edges {
		a, b := g.Nodes[e.From].Band, g.Nodes[e.To].Band
		if a > b || a == b && place[e.From] < place[e.To] {
			e = Edge{e.To, e.From, Cycle}
		}
		l.edges = append(l.edges, e)
		l.out[e.From] = append(l.out[e.From], e.To)
		l.into[e.To] = append(l.into[e.To], e.From)
	}
	return l
}

// finished returns the order in which a depth-first search leaves the nodes. An edge to a node that is left later is
// part of a cycle.
func finished(next [][]int) []int {
	place, at, seen := make([]int, len(next)), make([]int, len(next)), make([]bool, len(next))
	done := 0
	for root := range next {
		if seen[root] {
			continue
		}
		seen[root] = true
		for path := []int{root}; len(path) > 0; {
			n := path[len(path)-1]
			if at[n] == len(next[n]) {
				place[n], done, path = done, done+1, path[:len(path)-1]
				continue
			}
			to := next[n][at[n]]
			at[n]++
			if !seen[to] {
				seen[to] = true
				path = append(path, to)
			}
		}
	}
	return place
}

// heights returns for each node the number of edges on the longest path from it.
func (l *links) heights() []int {
	height, waits := make([]int, len(l.out)), make([]int, len(l.out))
	var ready []int
	for n := range l.out {
		if waits[n] = len(l.out[n]); waits[n] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		for _, p := range l.into[n] {
			height[p] = max(height[p], height[n]+1)
			if waits[p]--; waits[p] == 0 {
				ready = append(ready, p)
			}
		}
	}
	return height
}

// mostRows is the number of nodes in a layer, so that a picture of n nodes is about as high as wide.
func mostRows(n int) int { return max(12, int(math.Sqrt(6*float64(n)))) }

// layersOf returns the layer of each node and the first layer of each band. The nodes before long paths get a layer
// first; nodes with equal paths follow each other as in the graph.
func layersOf(g *Graph, l *links) (layer []int, starts []int) {
	layer = make([]int, len(g.Nodes))
	height, rows := l.heights(), mostRows(len(g.Nodes))
	bands := map[int][]int{}
	for n, node := range g.Nodes {
		bands[node.Band] = append(bands[node.Band], n)
		layer[n] = -1
	}
	first := 0
	for b := range len(g.Bands) {
		starts = append(starts, first)
		waiting := bands[b]
		slices.SortStableFunc(waiting, func(x, y int) int { return cmp.Compare(height[y], height[x]) })
		for ; len(waiting) > 0; first++ {
			waiting = l.fill(layer, waiting, first, rows)
		}
	}
	return layer, starts
}

// fill puts nodes whose predecessors are in earlier layers into a layer, and returns the other nodes.
func (l *links) fill(layer, waiting []int, this, rows int) (rest []int) {
	for _, n := range waiting {
		late := slices.ContainsFunc(l.into[n], func(p int) bool { return layer[p] < 0 || layer[p] == this })
		if late || rows == 0 {
			rest = append(rest, n)
			continue
		}
		layer[n] = this
		rows--
	}
	return rest
}
