package web

import (
	"cmp"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet/document"
)

// graph is a drawing of the modules of a target: a module has its place on the right of the modules that it needs.
type graph struct {
	Nodes         []node
	Edges         []edge
	Width, Height int
}

// node is a module in a graph. X and Y are the upper left corner.
type node struct {
	document.ModuleOnTarget
	X, Y int
}

// edge is a line from a module to a module that needs it.
type edge struct{ Path string }

// Sizes of a graph in pixels.
const (
	nodeWidth, nodeHeight = 150, 28
	columnWidth           = 210
	rowHeight             = 40
)

// moduleGraph returns the drawing, or nil if no module needs another one.
func moduleGraph(modules []document.ModuleOnTarget) *graph {
	columns := map[string]int{}
	for range modules { // as many passes as the longest possible chain
		moved := false
		for _, m := range modules {
			for _, n := range m.Needs {
				if c := columns[n.Module] + 1; c > columns[m.Module] && c <= len(modules) {
					columns[m.Module], moved = c, true
				}
			}
		}
		if !moved {
			break
		}
	}
	g, rows, at := &graph{}, map[int]int{}, map[string]node{}
	for _, m := range modules {
		if m.Module == "" {
			continue
		}
		c := columns[m.Module]
		n := node{m, 4 + c*columnWidth, 4 + rows[c]*rowHeight}
		rows[c]++
		at[m.Module], g.Nodes = n, append(g.Nodes, n)
		g.Width, g.Height = max(g.Width, n.X+nodeWidth+4), max(g.Height, n.Y+nodeHeight+4)
	}
	for _, n := range g.Nodes {
		for _, need := range n.Needs {
			from, ok := at[need.Module]
			if !ok {
				continue
			}
			x, y, u, w := from.X+nodeWidth, from.Y+nodeHeight/2, n.X, n.Y+nodeHeight/2
			middle := (x + u) / 2
			g.Edges = append(g.Edges, edge{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x, y, middle, y, middle, w, u, w)})
		}
	}
	if len(g.Edges) == 0 {
		return nil
	}
	slices.SortFunc(g.Edges, func(a, b edge) int { return cmp.Compare(a.Path, b.Path) })
	return g
}
