package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// The plot has a panel for each work on files, in two columns, and the names in
// the place of the last panel.
const (
	panelWidth, panelHeight = 430, 300
	left, right, top        = 62, 14, 34
	bottom                  = 38
	legendLine              = 20
)

// strokes are the colours of the tools: one for each product, with its ways
// from dark to light.
func strokes() map[string]string {
	return map[string]string{
		limitName:                  "#888888",
		fettleTree:                 "#0b3d91",
		"fettle, n files":          "#2e7bd6",
		"fettle, step file":        "#85bdf2",
		"cf-agent, tree by digest": "#a02318",
		"cf-agent, tree by time":   "#e0663a",
		"cf-agent, n promises":     "#f0ac6b",
		"puppet, tree":             "#5b2a86",
		"puppet, n files":          "#a77bd0",
		"ansible, tree":            "#1e7d43",
		"ansible, loop":            "#78c292",
	}
}

func stroke(tool string) string {
	if c := strokes()[tool]; c != "" {
		return c
	}
	return "#000000"
}

// axis maps values to places on a logarithmic scale.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	part := (math.Log10(v) - math.Log10(a.low)) / (math.Log10(a.high) - math.Log10(a.low))
	return a.from + part*(a.to-a.from)
}

// plotted are the works that the plot shows.
func plotted() []work { return []work{firstApply, noChange, verifyAll, repair, coldList} }

// plot draws the wall times against the numbers of files, both logarithmic, as SVG.
func plot(b *bench) string {
	var files field
	for _, f := range b.fields {
		if slices.Contains(f.works, noChange) {
			files = f
		}
	}
	columns, lines := 2, (len(plotted())+2)/2
	width, height := columns*panelWidth, lines*panelHeight
	var t strings.Builder
	fmt.Fprintf(&t, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&t, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	if len(files.sizes) > 0 {
		low, high := b.span(files)
		for i, w := range plotted() {
			panel(&t, b, files, w, float64(i%columns*panelWidth), float64(i/columns*panelHeight), low, high)
		}
	}
	for i, tool := range files.tools {
		x, y := (columns-1)*panelWidth+left, (lines-1)*panelHeight+top+i*legendLine
		fmt.Fprintf(&t, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`+
			"\n",
			x, y, x+26, y, stroke(tool.name), x+34, y+4, html.EscapeString(tool.name))
	}
	fmt.Fprintf(&t, `<text x="%d" y="%d" fill="#777777">dashed: twice the files, twice the time</text>`+"\n",
		(columns-1)*panelWidth+left, (lines-1)*panelHeight+top+len(files.tools)*legendLine+4)
	t.WriteString("</svg>\n")
	return t.String()
}

// span is the powers of ten around all times, in seconds.
func (b *bench) span(files field) (low, high float64) {
	low, high = math.Inf(1), 0
	for c := range b.results {
		if f, ok := b.figureOf(c); ok && slices.Contains(files.works, c.work) {
			low, high = min(low, f.wall.Seconds()), max(high, f.wall.Seconds())
		}
	}
	if high == 0 {
		return 0.001, 1
	}
	return math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
}

func panel(t *strings.Builder, b *bench, files field, w work, x0, y0, low, high float64) {
	first, last := float64(files.sizes[0]), float64(files.sizes[len(files.sizes)-1])
	if first == last {
		first, last = first/2, last*2
	}
	x := axis{first, last, x0 + left, x0 + panelWidth - right}
	y := axis{low, high, y0 + panelHeight - bottom, y0 + top}
	fmt.Fprintf(t, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", x0+left, y0+20,
		html.EscapeString(string(w)))
	for v := low; v <= high*1.001; v *= 10 {
		fmt.Fprintf(t, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			x.from, y.at(v), x.to, y.at(v), x.from-6, y.at(v)+4, shortTime(v))
	}
	for _, n := range files.sizes {
		v := x.at(float64(n))
		fmt.Fprintf(t, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			v, y.to, v, y.from, v, y.from+18, thousands(n))
	}
	if end := last / first * low; end <= high {
		fmt.Fprintf(t, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#999999" stroke-dasharray="3 4"/>`+"\n",
			x.from, y.from, x.to, y.at(end))
	}
	for _, tool := range files.tools {
		curve(t, b, files.sizes, w, tool.name, x, y)
	}
}

func curve(t *strings.Builder, b *bench, sizes []int, w work, tool string, x, y axis) {
	var points, dots strings.Builder
	for _, n := range sizes {
		f, ok := b.figureOf(cell{w, tool, n})
		if !ok {
			continue
		}
		px, py := x.at(float64(n)), y.at(f.wall.Seconds())
		fmt.Fprintf(&points, "%.1f,%.1f ", px, py)
		fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"><title>%s, %s files: %s s</title></circle>`+"\n",
			px, py, stroke(tool), html.EscapeString(tool), thousands(n), seconds(f.wall))
	}
	if points.Len() > 0 {
		fmt.Fprintf(t, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n%s",
			strings.TrimSpace(points.String()), stroke(tool), dots.String())
	}
}

func shortTime(v float64) string {
	return time.Duration(math.Round(v * 1e9)).String()
}
