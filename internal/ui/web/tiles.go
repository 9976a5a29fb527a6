package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
)

// tileGroup is a picture of targets: one tile for each.
type tileGroup struct {
	Name   string // the value of the label; "" means that the targets have no value
	Count  int
	States []stateCount
	// Tiles are the targets, if there are few: each is then a link. Otherwise Shapes draws them, and Names are the
	// names in the order of the tiles.
	Tiles  []document.Target
	Shapes []tileShape
	Names  string // separated by spaces
	Width  int
	Height int
	// Bars show the part of each state, instead of tiles, if there are very many targets.
	Bars []barPart
	Page string // the address of a page about the group; "" means none
}

// barPart is the part of a bar for a state.
type barPart struct {
	State       document.State
	Left, Width int // of barWidth
}

const barWidth = 1000

// tileShape draws all tiles of one state.
type tileShape struct {
	State document.State
	Path  string // as in SVG
}

// mostLinks is the number of tiles of a page that can be links. tileSize and tilesPerRow are the size and the number of
// tiles in a row of a picture.
const (
	mostLinks   = 600
	tileSize    = 9
	tilesPerRow = 110
)

// bar draws the parts of the states. Each has a width, also if it is very small.
func (g *tileGroup) bar() {
	left, sum := 0, 0
	for i, s := range g.States {
		sum += s.Count
		end := sum * barWidth / max(1, g.Count)
		end = min(max(end, left+4), barWidth-4*(len(g.States)-1-i))
		g.Bars = append(g.Bars, barPart{s.State, left, end - left})
		left = end
	}
}

// tileGroups returns the groups of targets by fleet or label, the largest first.
func tileGroups(all []document.Target, grouping string) []tileGroup {
	label, isLabel := strings.CutPrefix(grouping, "label:")
	by := map[string][]document.Target{}
	for _, t := range all {
		name := ""
		switch {
		case isLabel:
			name = t.Labels[label]
		case grouping == "fleet":
			name = t.Fleet
		}
		by[name] = append(by[name], t)
	}
	var out []tileGroup
	for name, targets := range by {
		slices.SortFunc(targets, func(a, b document.Target) int { return cmp.Compare(a.Name, b.Name) })
		g := tileGroup{Name: name, Count: len(targets), States: stateCounts(countStates(targets))}
		if len(all) <= mostLinks {
			g.Tiles = targets
		} else {
			g.draw(targets)
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b tileGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func countStates(all []document.Target) map[document.State]int {
	out := map[document.State]int{}
	for _, t := range all {
		out[t.State]++
	}
	return out
}

// draw makes the picture of many targets. A picture has one path for each state, so that browsers draw ten thousand
// tiles without a delay.
func (g *tileGroup) draw(targets []document.Target) {
	paths, names := map[document.State]*strings.Builder{}, make([]string, len(targets))
	for i, t := range targets {
		if names[i] = t.Name; paths[t.State] == nil {
			paths[t.State] = &strings.Builder{}
		}
		fmt.Fprintf(paths[t.State], outline(t.State), i%tilesPerRow*tileSize, i/tilesPerRow*tileSize)
	}
	for _, s := range document.States() {
		if p := paths[s]; p != nil {
			g.Shapes = append(g.Shapes, tileShape{s, p.String()})
		}
	}
	g.Names = strings.Join(names, " ")
	g.Width = min(len(targets), tilesPerRow) * tileSize
	g.Height = (len(targets) + tilesPerRow - 1) / tilesPerRow * tileSize
}

// outline returns the shape of a tile, with places for its position. States differ by their shapes too.
func outline(s document.State) string {
	switch kindOf(s) {
	case "bad": // a cross
		return "M%d %dh2l2 2 2-2h2v2l-2 2 2 2v2h-2l-2-2-2 2h-2v-2l2-2-2-2z"
	case "warn": // a triangle
		return "M%d %dm4 0l4 8h-8z"
	case "busy": // a rhombus
		return "M%d %dm4 0l4 4-4 4-4-4z"
	case "off": // a bar
		return "M%d %dm0 3h8v2h-8z"
	}
	return "M%d %dh8v8h-8z" // a square
}
