package graph

import (
	"fmt"
	"math"
)

// Size returns the width and the height of a drawing in pixels.
func (d *Drawing) Size() (width, height int) { return whole(d.width), whole(d.height) }

// Box returns the upper left corner and the size of a node.
func (d *Drawing) Box(node int) (x, y, width, height int) {
	b := d.boxes[node]
	return whole(b.x), whole(b.y), whole(b.w), whole(b.h)
}

// Lines returns the data of the SVG paths of the edges.
func (d *Drawing) Lines() []string {
	var out []string
	for _, p := range d.paths {
		out = append(out, p.data())
	}
	return out
}

// data returns a curve in the language of SVG paths.
func (p path) data() string {
	middle := whole((p.x1 + p.x2) / 2)
	text := fmt.Sprintf("M%d %dC%d %d %d %d %d %d", whole(p.x1), whole(p.y1), middle, whole(p.y1), middle, whole(p.y2),
		whole(p.x2), whole(p.y2))
	if p.through > p.x2 {
		text += fmt.Sprintf("H%d", whole(p.through))
	}
	return text
}

func whole(v float64) int { return int(math.Round(v)) }
