package repository

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/listgraph"
)

// GraphDoc is a graph as a JSON document.
type GraphDoc struct {
	Format string      `json:"format"` // fettle.graph/1
	Title  string      `json:"title"`
	Nodes  []graphNode `json:"nodes"`
	Edges  []graphEdge `json:"edges"`
}

type graphNode struct {
	Label   string   `json:"label"`
	Outcome string   `json:"outcome,omitempty"` // in a run: changed, unchanged, failed, undone, skipped, blocked, …
	Band    string   `json:"band,omitempty"`    // a phase, or the checks
	About   []string `json:"about"`             // lines for users
}

// graphEdge leads from a step to a later step. The ends are indexes of the nodes.
type graphEdge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Kind string `json:"kind"` // requires, notifies or on-failure
}

// drawn returns the picture of a graph in a format.
func drawn(g *graph.Graph, format string) ([]byte, error) {
	if format == "dot" {
		return graph.DOT(g), nil
	}
	if len(g.Nodes) > listgraph.MaxSteps {
		return nil, cli.Refuse("Draw it with Graphviz: --format dot, or read it as a document: --json",
			fmt.Sprintf("cannot draw %d steps in a readable picture; the maximum is %d", len(g.Nodes), listgraph.MaxSteps))
	}
	return graph.Draw(g).SVG(), nil
}

func graphDocument(g *graph.Graph) GraphDoc {
	doc := GraphDoc{Format: "fettle.graph/1", Title: g.Title, Nodes: []graphNode{}, Edges: []graphEdge{}}
	for _, n := range g.Nodes {
		doc.Nodes = append(doc.Nodes, graphNode{n.Label, n.State.Name, g.Bands[n.Band], strings.Split(n.Tip, "\n")})
	}
	for _, e := range g.Edges {
		kind := [...]string{"requires", "notifies", "on-failure"}[e.Style]
		doc.Edges = append(doc.Edges, graphEdge{e.From, e.To, kind})
	}
	return doc
}
