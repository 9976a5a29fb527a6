package graph

import (
	"math"
	"strconv"
	"strings"
)

// Sizes of a drawing in pixels. The text is in a font whose characters all have the same width.
const (
	charWidth  = 7.3
	boxHeight  = 24
	boxGap     = 8
	lineGap    = 5  // below a node without text
	columnGap  = 56 // between two layers
	margin     = 16
	textIndent = 10
)

// Sizes of the head of a drawing in pixels.
const (
	titleHeight   = 28
	noteHeight    = 18
	legendHeight  = 26
	headingHeight = 24
	textHeight    = 16 // from the upper edge of a box to the base line of its text
)

// legend returns the explanations of the states.
func (g *Graph) legend() []string {
	count := map[State]int{}
	for _, n := range g.Nodes {
		count[n.State]++
	}
	var out []string
	for _, s := range g.Legend {
		out = append(out, strings.TrimSpace(s.Mark+" "+s.Name)+" "+strconv.Itoa(count[s]))
	}
	return out
}

func legendWidth(text string) float64 { return float64(columnsOfText(text)+3) * charWidth }

// headHeight returns the place of the first layer below the head.
func headHeight(g *Graph) float64 {
	y := margin + noteHeight*len(g.Notes)
	if g.Title != "" {
		y += titleHeight
	}
	if len(g.Legend) > 0 {
		y += legendHeight
	}
	if len(g.Bands) > 1 || g.Bands[0] != "" {
		y += headingHeight
	}
	return float64(y)
}

// headWidth returns the right end of the head.
func headWidth(g *Graph) float64 {
	wide := float64(columnsOfText(shortened(g.Title))) * charWidth * 1.3
	for _, note := range g.Notes {
		wide = max(wide, float64(columnsOfText(note))*charWidth)
	}
	row := 0.0
	for _, text := range g.legend() {
		row += legendWidth(text)
	}
	return math.Ceil(margin + max(wide, row))
}
