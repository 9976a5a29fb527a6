package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/ui/listgraph"
)

// drawing is a drawing of the modules of a target: a module has its place on the right of the modules that it needs.
type drawing struct {
	Nodes         []node
	Lines         []string // the data of SVG paths
	Width, Height int
}

// node is a module in a drawing. X and Y are the upper left corner.
type node struct {
	document.ModuleOnTarget
	X, Y, Width, Height int
}

// moduleGraph returns the drawing, or nil if no module needs another one.
func moduleGraph(modules []document.ModuleOnTarget) *drawing {
	g, at, out := &graph.Graph{}, map[string]int{}, &drawing{}
	for _, m := range modules {
		if m.Module != "" {
			at[m.Module] = len(g.Nodes)
			look := graph.State{Mark: mark(m.State)}
			g.Nodes = append(g.Nodes, graph.Node{Label: partName(m.Module), State: look})
			out.Nodes = append(out.Nodes, node{ModuleOnTarget: m})
		}
	}
	for i, n := range out.Nodes {
		for _, need := range n.Needs {
			if from, ok := at[need.Module]; ok {
				g.Edges = append(g.Edges, graph.Edge{From: from, To: i})
			}
		}
	}
	if len(g.Edges) == 0 {
		return nil
	}
	d := graph.Draw(g)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.X, n.Y, n.Width, n.Height = d.Box(i)
	}
	out.Lines = d.Lines()
	out.Width, out.Height = d.Size()
	return out
}

// runGraph returns the picture of a run, which fettle graph writes on the host.
func runGraph(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	n, ok := runNumber(v)
	if !ok {
		return noPage(v)
	}
	q := question{target: host.Name, command: commandOf("fettle", "show", "-t", host.Name, strconv.Itoa(n)),
		within: answerWithin}
	p := &page{}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		shown, err := showRun(ctx, x, host.Name, n)
		if err == nil {
			p.Picture = graphOfRun(host.Name, shown.Shown)
		}
		return err
	})
	return p, err
}

// graphOfRun returns the picture of a run as SVG.
func graphOfRun(target string, s executor.Shown) []byte {
	return graph.Draw(listgraph.OfRun(target, s)).SVG()
}

// servePicture answers with an SVG. Its only style is the style sheet of the package graph, and it has no scripts.
func servePicture(w http.ResponseWriter, r *http.Request, svg []byte) {
	sum := sha256.Sum256([]byte(graph.StyleSheet))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'")
	w.Header().Set("Content-Type", "image/svg+xml")
	writeCompressed(w, r, http.StatusOK, svg)
}
