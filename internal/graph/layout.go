package graph

import (
	"cmp"
	"math"
	"slices"
)

// rounds is the number of times that the layers are ordered from left to right and back.
const rounds = 8

// Drawing is a graph whose nodes have places.
type Drawing struct {
	graph         *Graph
	boxes         []box
	paths         []path
	headings      []heading
	width, height float64
	top           float64 // of the first layer
}

// box is the place of a node.
type box struct{ x, y, w, h float64 }

// path is the line of an edge between two neighbouring layers.
type path struct {
	x1, y1, x2, y2 float64
	through        float64 // the line continues straight to this x
	style          Style
	arrow          bool
}

// heading is the name of a band.
type heading struct {
	x    float64
	text string
}

// point is a place in a layer: a node, or the line of edges that cross the layer.
type point struct {
	node        int // -1 for a line
	size        float64
	y           float64
	left, right []*point
	styles      []Style // of the edges to right
}

// Draw gives each node of a graph its place.
func Draw(g *Graph) *Drawing {
	g = g.clean()
	d := &Drawing{graph: g, boxes: make([]box, len(g.Nodes)), top: headHeight(g)}
	l := acyclic(g)
	layer, starts := layersOf(g, l)
	columns := columnsOf(g, l, layer)
	for range rounds {
		for i := range columns {
			order(columns[i], func(p *point) []*point { return p.left })
		}
		for i := len(columns) - 1; i >= 0; i-- {
			order(columns[i], func(p *point) []*point { return p.right })
		}
	}
	align(columns)
	d.place(columns, starts)
	return d
}

// columnsOf returns the points of each layer, with lines through the layers that edges cross.
func columnsOf(g *Graph, l *links, layer []int) [][]*point {
	columns := make([][]*point, slices.Max(append([]int{-1}, layer...))+1)
	nodes := make([]*point, len(g.Nodes))
	for n := range g.Nodes {
		nodes[n] = &point{node: n, size: boxHeight + boxGap}
		columns[layer[n]] = append(columns[layer[n]], nodes[n])
	}
	type key struct {
		from, layer int
		style       Style
	}
	lines := map[key]*point{}
	for _, e := range l.edges {
		last := nodes[e.From]
		for c := layer[e.From] + 1; c < layer[e.To]; c++ {
			k := key{e.From, c, e.Style}
			if lines[k] == nil {
				lines[k] = &point{node: -1, size: lineGap}
				columns[c] = append(columns[c], lines[k])
				join(last, lines[k], e.Style)
			}
			last = lines[k]
		}
		join(last, nodes[e.To], e.Style)
	}
	stack(columns)
	return columns
}

func join(a, b *point, s Style) {
	a.right, a.styles, b.left = append(a.right, b), append(a.styles, s), append(b.left, a)
}

// stack places the points of each layer one below the other.
func stack(columns [][]*point) {
	for _, column := range columns {
		y := 0.0
		for _, p := range column {
			p.y = y + p.size/2
			y += p.size
		}
	}
}

// order sorts a layer by the barycentre of the neighbours on one side. A point without neighbours remains where it is.
func order(column []*point, side func(*point) []*point) {
	at := make(map[*point]float64, len(column))
	for _, p := range column {
		at[p] = mean(side(p), p.y)
	}
	slices.SortStableFunc(column, func(a, b *point) int { return cmp.Compare(at[a], at[b]) })
	stack([][]*point{column})
}

func mean(points []*point, without float64) float64 {
	if len(points) == 0 {
		return without
	}
	sum := 0.0
	for _, p := range points {
		sum += p.y
	}
	return sum / float64(len(points))
}

// align moves the points of each layer towards their neighbours, without a change of their order.
func align(columns [][]*point) {
	for range rounds {
		for _, column := range columns {
			settle(column, func(p *point) float64 { return mean(p.left, p.y) })
		}
		for _, column := range slices.Backward(columns) {
			settle(column, func(p *point) float64 { return mean(p.right, p.y) })
		}
	}
	for _, column := range columns {
		settle(column, func(p *point) float64 { return mean(append(slices.Clone(p.left), p.right...), p.y) })
	}
}

// block is a group of points that touch each other.
type block struct {
	sum    float64 // of the desired tops of the block, one for each point
	points int
	size   float64
}

func (b block) top() float64 { return b.sum / float64(b.points) }

// settle gives the points of a layer the places with the smallest squares of distances to the desired ones: it joins
// neighbours that would overlap to a block, until no blocks overlap.
func settle(column []*point, desired func(*point) float64) {
	var blocks []block
	for _, p := range column {
		b := block{desired(p) - p.size/2, 1, p.size}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.top()+last.size <= b.top() {
				break
			}
			blocks = blocks[:len(blocks)-1]
			b = block{last.sum + b.sum - float64(b.points)*last.size, last.points + b.points, last.size + b.size}
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		y := b.top()
		for range b.points {
			column[i].y = y + column[i].size/2
			y += column[i].size
			i++
		}
	}
}

// place computes the coordinates of the boxes and lines.
func (d *Drawing) place(columns [][]*point, starts []int) {
	highest := 0.0
	for _, column := range columns {
		for _, p := range column {
			highest = min(highest, p.y-p.size/2)
		}
	}
	x := float64(margin)
	left, widths := make([]float64, len(columns)), make([]float64, len(columns))
	for i, column := range columns {
		left[i], widths[i] = x, d.columnWidth(column)
		for _, p := range column {
			p.y += d.top - highest
			if p.node >= 0 {
				d.boxes[p.node] = box{x, p.y - boxHeight/2, widths[i], boxHeight}
			}
			d.height = max(d.height, p.y+p.size/2)
		}
		x += widths[i] + columnGap
	}
	d.connect(columns, left, widths)
	d.width, d.height = max(x-columnGap, headWidth(d.graph))+margin, max(d.height, d.top)+margin
	for b, first := range starts {
		if first < len(left) && d.graph.Bands[b] != "" {
			d.headings = append(d.headings, heading{left[first], d.graph.Bands[b]})
		}
	}
}

// columnWidth returns the width of the longest label in a layer.
func (d *Drawing) columnWidth(column []*point) float64 {
	chars := 0
	for _, p := range column {
		if p.node >= 0 {
			chars = max(chars, columnsOfText(d.graph.Nodes[p.node].text()))
		}
	}
	return math.Ceil(float64(chars)*charWidth) + 2*textIndent
}

// connect draws the lines between neighbouring layers, the lines of a layer from top to bottom.
func (d *Drawing) connect(columns [][]*point, left, widths []float64) {
	for i := range len(columns) - 1 {
		for _, p := range columns[i] {
			for k, q := range p.right {
				line := path{left[i] + widths[i], p.y, left[i+1], q.y, left[i+1], p.styles[k], q.node >= 0}
				if q.node < 0 {
					line.through += widths[i+1]
				}
				d.paths = append(d.paths, line)
			}
		}
	}
}
