// Package plot draws numbers over time as paths of SVG.
//
//	p := plot.New(history, history.Series[0])
//	for _, line := range p.Lines { … } // the attribute d of a path, in a picture of Width by Height pixels
package plot

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// Width and Height are the sizes of a plot in pixels.
const (
	Width, Height = 560, 120
	bottom        = Height - 18 // the labels of times are below
)

// Plot is a drawing of one number over time. It has its values as text, too.
type Plot struct {
	Text             string
	Now, Least, Most string // values with their unit; "" means unknown
	// Lines are the paths of the line, one for each time span without a gap. Dots are values without a neighbour.
	Lines  []string
	Dots   []Dot
	Labels []Label
	Top    string // the value at the upper edge
}

// Dot is the centre of a small circle.
type Dot struct{ X, Y int }

// Label is the text below a time.
type Label struct {
	X    int
	Text string
}

// New draws a series of a history.
func New(h document.History, s document.HistorySeries) Plot {
	p := Plot{Text: s.Text, Labels: timeLabels(h)}
	if len(s.Points) == 0 {
		return p
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, each := range s.Points {
		least, most = min(least, each.Value), max(most, each.Value)
	}
	top := ceilingOf(s.Unit, most)
	p.Least, p.Most, p.Top = s.ValueText(least), s.ValueText(most), s.ValueText(top)
	last := s.Points[len(s.Points)-1]
	if h.Until-last.At <= 2*h.Span {
		p.Now = s.ValueText(last.Value)
	}
	for _, part := range withoutGaps(s.Points, h.Span) {
		p.add(h, part, top)
	}
	return p
}

// add draws one part of the line.
func (p *Plot) add(h document.History, part []document.HistoryPoint, top float64) {
	var path strings.Builder
	var x, y int
	for i, each := range part {
		x = int(float64(each.At-h.From) / float64(max(1, h.Until-h.From)) * Width)
		y = bottom - int(each.Value/top*(bottom-4))
		_, _ = fmt.Fprintf(&path, "%s%d %d", map[bool]string{true: "M", false: "L"}[i == 0], x, y)
	}
	if len(part) == 1 {
		p.Dots = append(p.Dots, Dot{x, y})
		return
	}
	p.Lines = append(p.Lines, path.String())
}

// withoutGaps divides points where some are missing.
func withoutGaps(points []document.HistoryPoint, span int64) (out [][]document.HistoryPoint) {
	start := 0
	for i := 1; i <= len(points); i++ {
		if i == len(points) || points[i].At-points[i-1].At > 2*span {
			out = append(out, points[start:i])
			start = i
		}
	}
	return out
}

// ceilingOf returns ceiling of a value in the unit that users see.
func ceilingOf(unit string, v float64) float64 {
	switch {
	case unit == "seconds" && v > 3600:
		return 3600 * ceiling(v/3600)
	case unit == "seconds" && v > 60:
		return 60 * ceiling(v/60)
	}
	return ceiling(v)
}

// ceiling returns a round number that is at least v, and not 0.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v <= n*unit {
			return n * unit
		}
	}
	return 10 * unit
}

// timeLabels returns labels for some round times of a plot, in UTC.
func timeLabels(h document.History) (out []Label) {
	from, until := time.Unix(0, h.From).UTC(), time.Unix(0, h.Until).UTC()
	days := int(cmp.Or(until.Sub(from).Hours()/24+0.5, 1))
	step, format := 6*time.Hour, "15:04"
	if days > 1 {
		step, format = time.Duration((days+5)/6)*24*time.Hour, "Jan 2"
	}
	for at := from.Truncate(step).Add(step); at.Before(until); at = at.Add(step) {
		x := int(float64(at.Sub(from)) / float64(until.Sub(from)) * Width)
		if x < Width-30 {
			out = append(out, Label{x, at.Format(format)})
		}
	}
	return out
}
