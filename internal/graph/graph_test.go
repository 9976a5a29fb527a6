package graph_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/graph"
)

// random returns a graph in which each edge leads to a later node.
func random(r *rand.Rand, n int) *graph.Graph {
	g := &graph.Graph{Title: "random", Bands: []string{"a", "b"}}
	for i := range n {
		g.Nodes = append(g.Nodes, graph.Node{Label: fmt.Sprintf("node-%d", i), Band: i * 2 / n})
		for range r.IntN(4) {
			if i > 0 {
				g.Edges = append(g.Edges, graph.Edge{From: r.IntN(i), To: i, Style: graph.Style(r.IntN(3))})
			}
		}
	}
	return g
}

type rect struct{ x, y, w, h int }

var (
	boxes = regexp.MustCompile(`<g class="node [a-z]*">(?:<title>[^<]*</title>)?` +
		`<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"`)
	curves = regexp.MustCompile(`d="M(\d+) \d+C\d+ \d+ \d+ \d+ (\d+) \d+`)
)

func numbers(match []string) (out []int) {
	for _, text := range match[1:] {
		n, _ := strconv.Atoi(text)
		out = append(out, n)
	}
	return out
}

// rects returns the boxes of the nodes, in their order.
func rects(svg []byte) (out []rect) {
	for _, m := range boxes.FindAllStringSubmatch(string(svg), -1) {
		n := numbers(m)
		out = append(out, rect{n[0], n[1], n[2], n[3]})
	}
	return out
}

func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := random(r, 1+r.IntN(120))
		svg := graph.Draw(g).SVG()
		if again := graph.Draw(g).SVG(); !bytes.Equal(svg, again) {
			t.Fatalf("seed %d: two drawings of a graph differ", seed)
		}
		at := rects(svg)
		if len(at) != len(g.Nodes) {
			t.Fatalf("seed %d: %d boxes for %d nodes", seed, len(at), len(g.Nodes))
		}
		noOverlap(t, seed, at)
		for _, e := range g.Edges {
			if from, to := at[e.From], at[e.To]; from.x+from.w >= to.x {
				t.Fatalf("seed %d: the edge %v does not lead to the right", seed, e)
			}
		}
		for _, m := range curves.FindAllStringSubmatch(string(svg), -1) {
			if n := numbers(m); n[0] >= n[1] {
				t.Fatalf("seed %d: a line leads to the left: %s", seed, m[0])
			}
		}
	}
}

func noOverlap(t *testing.T, seed uint64, at []rect) {
	t.Helper()
	for i, a := range at {
		for k, b := range at[:i] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Fatalf("seed %d: the nodes %d and %d overlap: %v %v", seed, i, k, a, b)
			}
		}
	}
}

// Text of steps comes from repositories and journals: it must not become markup, and the document must be valid.
func TestHostileText(t *testing.T) {
	hostile := "</text><script>alert(1)</script>\"'&\x00\x1b[31m\u202e\xff" + strings.Repeat("界", 100)
	g := &graph.Graph{Title: hostile, Notes: []string{hostile}, Bands: []string{hostile},
		Nodes:  []graph.Node{{Label: hostile, Tip: hostile, Band: 7, State: graph.State{Mark: "<", Class: `"><script>`}}, {}},
		Edges:  []graph.Edge{{From: 0, To: 1}, {From: 1, To: 0}, {From: 0, To: 9}, {From: -1, To: 0}, {From: 1, To: 1}},
		Legend: []graph.State{{Name: hostile, Class: graph.Good}}}
	svg := graph.Draw(g).SVG()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the document is not valid: %v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
			t.Errorf("the document has a script:\n%s", svg)
		}
	}
	if strings.ContainsAny(string(svg), "\x00\x1b\u202e") {
		t.Errorf("the document has control characters:\n%q", svg)
	}
	if dot := graph.DOT(g); strings.Count(string(dot), "\n") != 8 {
		t.Errorf("text of a node changes the structure of the file for Graphviz:\n%s", dot)
	}
}

func TestEmptyGraph(t *testing.T) {
	svg := string(graph.Draw(&graph.Graph{Title: "empty", Notes: []string{"The list has no steps."}}).SVG())
	if !strings.Contains(svg, "The list has no steps.") || strings.Contains(svg, `class="node`) {
		t.Errorf("drawing of an empty graph:\n%s", svg)
	}
}

func BenchmarkDraw500(b *testing.B) {
	g := random(rand.New(rand.NewPCG(1, 1)), 500)
	for b.Loop() {
		graph.Draw(g).SVG()
	}
}
