package graph

import (
	"bytes"
	_ "embed" // for the style sheet
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// StyleSheet is the content of the style element of each SVG.
//
//go:embed style.css
var StyleSheet string

// SVG returns the drawing as a document without scripts and without references to other files.
func (d *Drawing) SVG() []byte {
	w := &svgWriter{}
	width, height := px(d.width), px(d.height)
	w.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img">`+"\n",
		width, height, width, height)
	w.add("<title>%s</title>\n<style>%s</style>\n", escape(d.graph.Title), StyleSheet)
	w.add(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">` +
		`<path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	w.add(`<rect class="back" width="%s" height="%s"/>`+"\n", width, height)
	w.head(d.graph)
	w.bands(d)
	for _, p := range d.paths {
		w.path(p)
	}
	for i, b := range d.boxes {
		w.node(d.graph.Nodes[i], b)
	}
	w.add("</svg>\n")
	return w.Bytes()
}

// svgWriter appends elements to a document.
type svgWriter struct{ bytes.Buffer }

func (w *svgWriter) add(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// text adds a line of text with its base line at y.
func (w *svgWriter) text(class string, x, y float64, text string) {
	w.add(`<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, px(x), px(y), escape(text))
}

// head adds the title, the notes and the legend.
func (w *svgWriter) head(g *Graph) {
	y := float64(margin)
	if g.Title != "" {
		w.text("title", margin, y+14, shortened(printable(g.Title)))
		y += titleHeight
	}
	for _, note := range g.Notes {
		w.text("soft", margin, y+12, printable(note))
		y += noteHeight
	}
	x := float64(margin)
	for i, text := range g.legend() {
		w.text(g.Legend[i].Class, x, y+14, text)
		x += legendWidth(text)
	}
}

// bands adds the headings of the bands, and a line on the left of each but the first one.
func (w *svgWriter) bands(d *Drawing) {
	for i, h := range d.headings {
		if i > 0 {
			x := px(h.x - columnGap/2)
			w.add(`<path class="band" d="M%s %sV%s"/>`+"\n", x, px(d.top-headingHeight), px(d.height-margin))
		}
		w.text("soft", h.x, d.top-8, printable(h.text))
	}
}

// path adds a curve between two layers.
func (w *svgWriter) path(p path) {
	class := [...]string{"edge", "edge dashed", "edge dotted", "edge cycle"}[p.style]
	end := ""
	if p.arrow && p.style != Cycle {
		end = ` marker-end="url(#arrow)"`
	}
	w.add(`<path class="%s" d="%s"%s/>`+"\n", class, p.data(), end)
}

// node adds the box of a node.
func (w *svgWriter) node(n Node, b box) {
	w.add(`<g class="node %s">`, escape(n.State.Class))
	if n.Tip != "" {
		w.add("<title>%s</title>", escape(n.Tip))
	}
	w.add(`<rect x="%s" y="%s" width="%s" height="%s" rx="4"/>`, px(b.x), px(b.y), px(b.w), px(b.h))
	w.add(`<text x="%s" y="%s">`, px(b.x+textIndent), px(b.y+textHeight))
	if n.State.Mark != "" {
		w.add(`<tspan class="%s">%s</tspan> `, escape(n.State.Class), escape(n.State.Mark))
	}
	w.add("%s</text></g>\n", escape(shortened(printable(n.Label))))
}

// px returns a coordinate as text.
func px(v float64) string { return strconv.Itoa(whole(v)) }

// escape returns printable text for XML.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(printable(text))) // a strings.Builder has no errors
	return b.String()
}
