package main

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// The plot has a panel for each work, in two columns, and the names below.
const (
	panelWidth, panelHeight = 430, 300
	left, right, top        = 62, 14, 34
	bottom                  = 38
	legendLine              = 20
)

func colours() []string {
	return []string{"#888888", "#0b5fa5", "#2e9bd6", "#7cc4ee", "#b03a2e", "#e67e22", "#8e6c3a"}
}

// axis maps values to places on a logarithmic scale.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	part := (math.Log10(v) - math.Log10(a.low)) / (math.Log10(a.high) - math.Log10(a.low))
	return a.from + part*(a.to-a.from)
}

// plot draws the wall times against the numbers of files, both logarithmic, as SVG.
func plot(b *bench) string {
	legend := (len(b.tools)+1)/2*legendLine + 16
	width, height := 2*panelWidth, 2*panelHeight+legend
	var t strings.Builder
	fmt.Fprintf(&t, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&t, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	low, high := b.span()
	for i, w := range works() {
		panel(&t, b, w, float64(i%2*panelWidth), float64(i/2*panelHeight), low, high)
	}
	for i, tool := range b.tools {
		x, y := i%2*panelWidth+left, 2*panelHeight+14+i/2*legendLine
		fmt.Fprintf(&t, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`+"\n",
			x, y, x+26, y, colours()[i%len(colours())], x+34, y+4, html.EscapeString(tool.name))
	}
	t.WriteString("</svg>\n")
	return t.String()
}

// span is the powers of ten around all times, in seconds.
func (b *bench) span() (low, high float64) {
	low, high = math.Inf(1), 0
	for c := range b.results {
		if f, ok := b.figureOf(c); ok {
			low, high = min(low, f.wall.Seconds()), max(high, f.wall.Seconds())
		}
	}
	if high == 0 {
		return 0.001, 1
	}
	return math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
}

func panel(t *strings.Builder, b *bench, w work, x0, y0, low, high float64) {
	first, last := float64(b.sizes[0]), float64(b.sizes[len(b.sizes)-1])
	if first == last {
		first, last = first/2, last*2
	}
	x := axis{first, last, x0 + left, x0 + panelWidth - right}
	y := axis{low, high, y0 + panelHeight - bottom, y0 + top}
	fmt.Fprintf(t, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", x0+left, y0+20, html.EscapeString(string(w)))
	for v := low; v <= high*1.001; v *= 10 {
		fmt.Fprintf(t, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			x.from, y.at(v), x.to, y.at(v), x.from-6, y.at(v)+4, shortTime(v))
	}
	for _, n := range b.sizes {
		v := x.at(float64(n))
		fmt.Fprintf(t, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			v, y.to, v, y.from, v, y.from+18, thousands(n))
	}
	for i, tool := range b.tools {
		curve(t, b, w, tool.name, x, y, colours()[i%len(colours())])
	}
}

func curve(t *strings.Builder, b *bench, w work, tool string, x, y axis, colour string) {
	var points, dots strings.Builder
	for _, n := range b.sizes {
		f, ok := b.figureOf(cell{w, tool, n})
		if !ok {
			continue
		}
		px, py := x.at(float64(n)), y.at(f.wall.Seconds())
		fmt.Fprintf(&points, "%.1f,%.1f ", px, py)
		fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"><title>%s, %s files: %s s</title></circle>`+"\n",
			px, py, colour, html.EscapeString(tool), thousands(n), seconds(f.wall))
	}
	if points.Len() > 0 {
		fmt.Fprintf(t, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n%s", strings.TrimSpace(points.String()), colour, dots.String())
	}
}

func shortTime(v float64) string {
	return time.Duration(math.Round(v * 1e9)).String()
}
