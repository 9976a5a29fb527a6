package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
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
	q := question{target: host.Name, command: host.command("show", strconv.Itoa(n)),
		within: answerWithin}
	p := &page{}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) error {
		shown, err := showRun(ctx, x, &host, n)
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

// listGraph returns the picture of the list that is applied on the host of a target.
func listGraph(v *visit) (*page, error) {
	host, err := hostOf(v)
	if err != nil {
		return nil, err
	}
	q := question{target: host.Name, command: host.command("log"), within: answerWithin}
	p := &page{}
	err = ask(v, q, func(ctx context.Context, x *wire.Client) (err error) {
		p.Picture, err = pictureOfList(ctx, x, host.Name)
		return err
	})
	return p, err
}

// pictureOfList returns the picture of the applied list as SVG.
func pictureOfList(ctx context.Context, x *wire.Client, target string) ([]byte, error) {
	status, err := x.Status(ctx)
	if err != nil {
		return nil, err
	}
	n := status.State.Run
	if n == 0 {
		return nil, &document.Problem{Title: "Nothing is applied on the host of " + target, Status: http.StatusNotFound,
			Detail: "cannot draw the list of the host: it has none"}
	}
	list, err := x.List(ctx, n)
	if err != nil {
		return nil, err
	}
	g := listgraph.OfApplied(fmt.Sprintf("Applied list of %s, run %d", target, n), list, statesOfRun(ctx, x, n))
	if !status.State.Complete {
		g.Notes = append(g.Notes, fmt.Sprintf("run %d ended before all steps of this list were applied", n))
	}
	return graph.Draw(g).SVG(), nil
}

// statesOfRun returns the states of the list of a run. Without them, the picture lacks their names and their order.
func statesOfRun(ctx context.Context, x *wire.Client, n int) []executor.StateRef {
	if d, err := x.RunDetails(ctx, n, false); err == nil {
		return d.States
	}
	s, _ := x.Show(ctx, n) // an agent of an earlier version
	return s.States
}

// servePicture answers with an SVG. Its only style is the style sheet of the package graph, and it has no scripts.
func servePicture(w http.ResponseWriter, r *http.Request, svg []byte) {
	sum := sha256.Sum256([]byte(graph.StyleSheet))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'")
	w.Header().Set("Content-Type", "image/svg+xml")
	writeCompressed(w, r, http.StatusOK, svg)
}
