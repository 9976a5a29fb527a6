package plot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/document"
)

// Course is a drawing of the numbers of targets of a rollout over time.
type Course struct {
	Top                    int // the number at the upper edge
	Granted, Ready, Failed string
	Labels                 []Label // times since the begin
	Marks                  []Mark
	Rows                   []Row
	Took                   string        // from the begin until the end of the plot
	Span                   time.Duration // shorter changes are not in the plot
}

// Mark is a vertical line at an event.
type Mark struct {
	X     int
	Label string // its number in the table; "" if there is no place for it
}

// Row is a row of the table that has the same content as the plot.
type Row struct {
	After                  string // the time since the begin
	Mark                   string // the number of the event
	Text                   string
	Granted, Ready, Failed int
}

// mostRows is the number of points in the table, without marks.
const mostRows = 8

// NewCourse draws a course until a time, in seconds since 1970; nil means that there are no points.
func NewCourse(d *document.RolloutCourse, until int64) *Course {
	if d == nil || len(d.Points) == 0 {
		return nil
	}
	s := scale{from: d.Points[0].At, until: max(until, d.Points[len(d.Points)-1].At, d.Points[0].At+1), top: 1}
	s.top = max(s.top, d.Targets)
	for _, p := range d.Points {
		s.top = max(s.top, p.Granted, p.Ready, p.Failed)
	}
	c := &Course{Top: s.top, Labels: s.labels(), Rows: s.rows(d), Took: s.after(s.until),
		Span: time.Duration(d.Span) * time.Second,
		// The lines of the fewest targets are drawn last.
		Granted: s.line(d.Points, func(p document.RolloutPoint) int { return p.Granted }),
		Ready:   s.line(d.Points, func(p document.RolloutPoint) int { return p.Ready }),
		Failed:  s.line(d.Points, func(p document.RolloutPoint) int { return p.Failed })}
	c.Marks = s.marks(d.Marks)
	return c
}

// scale is the place of times and numbers in a plot.
type scale struct {
	from, until int64
	top         int
}

func (s scale) x(at int64) int {
	return int((min(max(at, s.from), s.until) - s.from) * Width / (s.until - s.from))
}

func (s scale) y(n int) int { return bottom - n*(bottom-4)/s.top }

// after returns the time since the begin, rounded to two units.
func (s scale) after(at int64) string {
	d := time.Duration(max(0, at-s.from)) * time.Second
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= 10*time.Minute:
		d = d.Truncate(time.Minute)
	}
	return duration.Text(d)
}

// line returns the path of a number, which keeps its value until the next point.
func (s scale) line(points []document.RolloutPoint, of func(document.RolloutPoint) int) string {
	var path strings.Builder
	_, _ = fmt.Fprintf(&path, "M0 %d", s.y(of(points[0])))
	for _, p := range points[1:] {
		_, _ = fmt.Fprintf(&path, "H%dV%d", s.x(p.At), s.y(of(p)))
	}
	_, _ = fmt.Fprintf(&path, "H%d", Width)
	return path.String()
}

func (s scale) marks(all []document.RolloutMark) (out []Mark) {
	free := 12 // the first place without a label
	for i, m := range all {
		x := s.x(m.At)
		mark := Mark{X: x}
		if x >= free && x <= Width-10 {
			mark.Label, free = fmt.Sprint(i+1), x+18
		}
		out = append(out, mark)
	}
	return out
}

// labels returns up to seven round times.
func (s scale) labels() (out []Label) {
	step := int64(1)
	for _, step = range []int64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 4 * 3600, 12 * 3600, 86400} {
		if (s.until-s.from)/step <= 6 {
			break
		}
	}
	for (s.until-s.from)/step > 6 {
		step *= 2
	}
	for at := s.from + step; at < s.until && s.x(at) < Width-30; at += step {
		out = append(out, Label{s.x(at), s.after(at)})
	}
	return out
}

// rows returns the begin, the marks, and some points between them, sorted by time.
func (s scale) rows(d *document.RolloutCourse) (out []Row) {
	type entry struct {
		at         int64
		mark, text string
	}
	var all []entry
	last := len(d.Points) - 1
	for i := range min(mostRows, len(d.Points)) {
		all = append(all, entry{at: d.Points[i*last/max(1, min(mostRows, len(d.Points))-1)].At})
	}
	all[0].text = "began"
	for i, m := range d.Marks {
		all = append(all, entry{m.At, fmt.Sprint(i + 1), m.Text})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return int(a.at - b.at) })
	for _, e := range all {
		p := pointAt(d.Points, e.at)
		out = append(out, Row{s.after(e.at), e.mark, e.text, p.Granted, p.Ready, p.Failed})
	}
	return out
}

// pointAt returns the last point until a time.
func pointAt(points []document.RolloutPoint, at int64) document.RolloutPoint {
	out := points[0]
	for _, p := range points {
		if p.At <= at {
			out = p
		}
	}
	return out
}
