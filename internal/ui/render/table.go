package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Table prints rows below a header in aligned columns. On a screen that is too narrow, it shortens the
// widest columns of words; identifiers stay complete as long as they fit. It escapes the cells.
func (s Style) Table(w io.Writer, header []string, rows [][]string) {
	rows = inLines(header, rows)
	widths := make([]int, len(header))
	for i, h := range header {
		widths[i] = columns(h)
	}
	for _, row := range rows {
		for i := range header {
			widths[i] = max(widths[i], columns(Escape(row[i])))
		}
	}
	s.fit(widths, header, rows)
	fmt.Fprintln(w, s.paint(bold, s.row(header, widths)))
	for _, row := range rows {
		fmt.Fprintln(w, s.row(row, widths))
	}
}

// fit narrows the widest columns of words until a row fits on the screen, but not below 12 columns or
// the heading. The first column names the row, and keeps its width.
func (s Style) fit(widths []int, header []string, rows [][]string) {
	const least = 12
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; s.Width > 0 && total > s.Width; total-- {
		widest := -1
		for i := 1; i < len(widths); i++ {
			if widths[i] > max(least, columns(header[i])) && (widest < 0 || widths[i] > widths[widest]) && hasWords(rows, i) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// hasWords reports whether a column has a cell of several words. A column without one has
// identifiers, of which a part is useless.
func hasWords(rows [][]string, column int) bool {
	return slices.ContainsFunc(rows, func(row []string) bool { return strings.ContainsAny(row[column], " ,") })
}

// longestReason limits a cell of a column REASON, in columns. A message can have a page; the command
// that shows a single object prints it completely.
const longestReason = 120

// inLines returns rows whose cells have one line each: the first line of longer texts.
func inLines(header []string, rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = make([]string, len(row))
		for k, cell := range row {
			first := firstLine(cell)
			if first != cell {
				first += " …"
			}
			if k < len(header) && header[k] == "REASON" {
				first = clip(first, longestReason)
			}
			out[i][k] = first
		}
	}
	return out
}

func (s Style) row(cells []string, widths []int) string {
	var b strings.Builder
	for i := range widths {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(pad(clip(Escape(cells[i]), widths[i]), widths[i]))
	}
	return clip(strings.TrimRight(b.String(), " "), s.Width)
}

// Pair is a name and its value.
type Pair struct{ Name, Value string }

// Pairs prints "name  value" lines with aligned values. It escapes values and omits empty ones.
// Further lines of a value are indented below it, and so is the rest of a line that is wider than
// the screen.
func (s Style) Pairs(w io.Writer, pairs []Pair) {
	width := 0
	for _, p := range pairs {
		if p.Value != "" {
			width = max(width, columns(p.Name))
		}
	}
	for _, p := range pairs {
		if p.Value == "" {
			continue
		}
		name := p.Name
		for _, l := range escapeLines(p.Value) {
			for _, part := range s.besideNames(l, width) {
				fmt.Fprintf(w, "%s%s  %s\n", s.paint(bold, name), strings.Repeat(" ", width-columns(name)), part)
				name = ""
			}
		}
	}
}

// Paragraphs prints text, and breaks lines that are wider than the screen.
func (s Style) Paragraphs(w io.Writer, text string) {
	for _, l := range escapeLines(text) {
		fmt.Fprintln(w, strings.Join(wrap(l, s.Width), "\n"))
	}
}

// besideNames breaks a line so that it fits beside a column of names. A screen that is too narrow
// for that leaves the line as it is.
func (s Style) besideNames(line string, names int) []string {
	const narrow = 20
	if s.Width < names+narrow || columns(line) <= s.Width-names-2 {
		return []string{line}
	}
	return wrap(line, s.Width-names-2)
}

// Time formats a time in its own zone: "2026-11-21 04:21:57".
func Time(at time.Time) string { return at.Format("2006-01-02 15:04:05") }

// Duration formats a duration with a useful precision: 12ms, 1.2s, 3m20s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "under 1ms"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Line prints one line of a stream: the time, the object, and the text. It escapes the texts.
func (s Style) Line(w io.Writer, when, about, text string) {
	fmt.Fprintln(w, s.paint(dim, when)+"  "+s.paint(bold, Escape(about))+"  "+Escape(text))
}
