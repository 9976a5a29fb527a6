package web

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// Sizes of a plot in pixels.
const (
	plotWidth, plotHeight = 560, 120
	plotBottom            = plotHeight - 18 // the labels of times are below
)

// plot is a drawing of one number over time. It has its values as text, too.
type plot struct {
	Text             string
	Now, Least, Most string // values with their unit; "" means unknown
	// Lines are the paths of the line, one for each time span without a gap. Dots are values without a neighbour.
	Lines  []string
	Dots   []dot
	Labels []plotLabel
	Top    string // the value at the upper edge
}

type dot struct{ X, Y int }

type plotLabel struct {
	X    int
	Text string
}

// newPlot draws a series.
func newPlot(h document.History, s document.HistorySeries) plot {
	p := plot{Text: s.Text, Labels: timeLabels(h)}
	if len(s.Points) == 0 {
		return p
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, each := range s.Points {
		least, most = min(least, each.Value), max(most, each.Value)
	}
	top := ceiling(most)
	p.Least, p.Most, p.Top = valueText(least, s.Unit), valueText(most, s.Unit), valueText(top, s.Unit)
	last := s.Points[len(s.Points)-1]
	if h.Until-last.At <= 2*h.Span {
		p.Now = valueText(last.Value, s.Unit)
	}
	for _, part := range withoutGaps(s.Points, h.Span) {
		p.add(h, part, top)
	}
	return p
}

// add draws one part of the line.
func (p *plot) add(h document.History, part []document.HistoryPoint, top float64) {
	var path strings.Builder
	var x, y int
	for i, each := range part {
		x = int(float64(each.At-h.From) / float64(max(1, h.Until-h.From)) * plotWidth)
		y = plotBottom - int(each.Value/top*(plotBottom-4))
		_, _ = fmt.Fprintf(&path, "%s%d %d", map[bool]string{true: "M", false: "L"}[i == 0], x, y)
	}
	if len(part) == 1 {
		p.Dots = append(p.Dots, dot{x, y})
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

// valueText returns a value with its unit.
func valueText(v float64, unit string) string {
	switch unit {
	case "bytes":
		return fmt.Sprintf("%.0f MB", v/1e6)
	case "cpus":
		return fmt.Sprintf("%.2g", v)
	}
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// timeLabels returns labels for some round times of a plot, in UTC.
func timeLabels(h document.History) (out []plotLabel) {
	from, until := time.Unix(0, h.From).UTC(), time.Unix(0, h.Until).UTC()
	days := int(cmp.Or(until.Sub(from).Hours()/24+0.5, 1))
	step, format := 6*time.Hour, "15:04"
	if days > 1 {
		step, format = time.Duration((days+5)/6)*24*time.Hour, "Jan 2"
	}
	for at := from.Truncate(step).Add(step); at.Before(until); at = at.Add(step) {
		x := int(float64(at.Sub(from)) / float64(until.Sub(from)) * plotWidth)
		if x < plotWidth-30 {
			out = append(out, plotLabel{x, at.Format(format)})
		}
	}
	return out
}
