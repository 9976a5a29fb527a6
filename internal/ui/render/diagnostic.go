package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// Diagnostics prints each diagnostic like a compiler: summary, position, source line with a mark
// below, detail, and the positions that led there.
func (s Style) Diagnostics(w io.Writer, list diag.List) {
	for i, d := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		s.diagnostic(w, d)
	}
}

func (s Style) diagnostic(w io.Writer, d diag.Diagnostic) {
	color := red
	if d.Severity == diag.Warning {
		color = yellow
	}
	fmt.Fprintf(w, "%s %s\n", s.paint(color, d.Severity.String()+":"), s.paint(bold, Escape(d.Summary)))
	number := strconv.Itoa(d.Range.Start.Line)
	gutter := strings.Repeat(" ", len(number))
	if place := d.Range.String(); place != "" {
		fmt.Fprintf(w, "%s%s %s\n", gutter, s.paint(blue, "-->"), Escape(place))
	}
	if d.Line != "" && d.Range.Start.Line > 0 {
		s.sourceLine(w, d, number, gutter, color)
	}
	if d.Detail != "" {
		s.detail(w, d.Detail)
	}
	for _, r := range d.Trace {
		fmt.Fprintf(w, "  %s %s\n", s.paint(dim, "from"), Escape(r.String()))
	}
}

func (s Style) detail(w io.Writer, text string) {
	for _, l := range escapeLines(text) {
		for _, part := range wrap(l, s.textWidth()) {
			fmt.Fprintf(w, "  %s\n", part)
		}
	}
}

// textWidth is the maximum width of running text in columns.
func (s Style) textWidth() int {
	if s.Width <= 0 {
		return 0
	}
	return min(s.Width, 100) - 4
}

func (s Style) sourceLine(w io.Writer, d diag.Diagnostic, number, gutter, color string) {
	text, from, to := window(d)
	bar := s.paint(blue, "|")
	fmt.Fprintf(w, "%s %s\n", gutter, bar)
	fmt.Fprintf(w, "%s %s %s\n", s.paint(blue, number), bar, text)
	fmt.Fprintf(w, "%s %s %s%s\n", gutter, bar, strings.Repeat(" ", from),
		s.paint(color, strings.Repeat("^", max(to-from, 1))))
}

// windowWidth is the number of columns of a source line around the mark.
const windowWidth = 120

// window returns the source line as it is printed, and the columns of the mark in it. Tabs become
// blanks, and escapes have their printed width, so that the mark is below the right text.
func window(d diag.Diagnostic) (text string, from, to int) {
	line := []rune(d.Line)
	start := min(max(d.Range.Start.Column-1, 0), len(line))
	end := len(line)
	if d.Range.End.Line == d.Range.Start.Line {
		end = min(max(d.Range.End.Column-1, start), len(line))
	}
	first := 0
	if start > windowWidth-20 {
		first = start - 20
	}
	last := min(len(line), first+windowWidth)
	end = min(end, last)
	prefix := show(line[first:start])
	mark := show(line[start:end])
	text = prefix + mark + show(line[end:last])
	if first > 0 {
		text, prefix = "…"+text, "…"+prefix
	}
	if last < len(line) {
		text += "…"
	}
	return text, columns(prefix), columns(prefix) + columns(mark)
}

func show(r []rune) string { return Escape(strings.ReplaceAll(string(r), "\t", "    ")) }

// Error prints an error that is not a diagnostic, and its remedy below.
func (s Style) Error(w io.Writer, text, hint string) {
	for i, l := range escapeLines(text) {
		if i == 0 {
			fmt.Fprintf(w, "%s %s\n", s.paint(red, "error:"), l)
			continue
		}
		fmt.Fprintf(w, "  %s\n", l)
	}
	s.Hint(w, hint)
}

// Hint prints a remedy; it prints nothing for "".
func (s Style) Hint(w io.Writer, hint string) {
	if hint == "" {
		return
	}
	for i, l := range escapeLines(hint) {
		label := "  hint:"
		if i > 0 {
			label = "       "
		}
		fmt.Fprintf(w, "%s %s\n", s.paint(cyan, label), l)
	}
}

// Warning prints one line about a problem that does not stop the command.
func (s Style) Warning(w io.Writer, text string) {
	fmt.Fprintf(w, "%s %s\n", s.paint(yellow, "warning:"), Escape(text))
}
