// Package graph draws a directed graph in layers, as SVG or in the language of Graphviz. It is pure: the same graph
// gives the same bytes.
//
//	g := &graph.Graph{Nodes: []graph.Node{{Label: "a"}, {Label: "b"}}, Edges: []graph.Edge{{From: 0, To: 1}}}
//	text := graph.Draw(g).SVG()
//
// The layout follows K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system
// structures", IEEE Transactions on Systems, Man, and Cybernetics 11 (1981): each node gets a layer on the right of its
// predecessors, then the nodes of a layer are ordered by the barycentre of their neighbours. The number of nodes in a
// layer is limited, as in E. G. Coffman and R. L. Graham, "Optimal scheduling for two-processor systems", Acta
// Informatica 1 (1972). Edges that cross other layers are lines through small nodes without text; edges with the same
// start share them.
package graph

import "slices"

// Graph is the input of a drawing.
type Graph struct {
	Title  string
	Notes  []string // lines below the title
	Nodes  []Node
	Edges  []Edge
	Bands  []string // headings of the bands
	Legend []State  // explained below the title, each with the number of its nodes
}

// Node is a box with one line of text.
type Node struct {
	Label string
	Tip   string // shown when the pointer is on the node; it may have several lines
	State State
	Band  int // index of Bands; all nodes of a band are on the right of the earlier bands
}

// State is the look of a node.
type State struct {
	Name  string
	Mark  string // one character, so that states differ without their colours; "" for no mark
	Class string // Good, Bad, Warn, Busy, Off or Plain
}

// The classes of states. Each has a colour for light and one for dark screens.
const (
	Good  = "good"
	Bad   = "bad"
	Warn  = "warn"
	Busy  = "busy"
	Off   = "off"
	Plain = "plain"
)

// Edge is a line from a node to a node on its right. The ends are indexes of Nodes.
type Edge struct {
	From, To int
	Style    Style
}

// Style is the line of an edge.
type Style int

// The styles of edges.
const (
	Solid  Style = iota
	Dashed       // a notification
	Dotted       // a reaction to a failure
	Cycle        // closes a cycle; it has no direction
)

// clean returns the graph with at least one band, and with each node in one of the bands.
func (g *Graph) clean() *Graph {
	c := *g
	if len(c.Bands) == 0 {
		c.Bands = []string{""}
	}
	c.Nodes = slices.Clone(g.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Band = min(max(c.Nodes[i].Band, 0), len(c.Bands)-1)
	}
	return &c
}

// valid returns the edges between different existing nodes, each once, in order.
func (g *Graph) valid() []Edge {
	seen := map[Edge]bool{}
	var out []Edge
	for _, e := range g.Edges {
		inside := e.From >= 0 && e.To >= 0 && e.From < len(g.Nodes) && e.To < len(g.Nodes)
		if inside && e.From != e.To && !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	return out
}
