package render

import (
	"fmt"
	"io"
	"strings"

	"fettle.dev/fettle/internal/plan"
)

// differences prints lines such as "mode 0644 -> 0600", one for each property. For new objects they
// only repeat the change, so they are printed only with Verbose.
func (s Style) differences(w io.Writer, c plan.Change, o PlanOptions) {
	gone := c.Action == plan.Remove || c.Action == plan.Purge
	if c.Action == plan.Create && !o.Verbose {
		return
	}
	width := 0
	for _, d := range c.Differences {
		width = max(width, columns(Escape(d.Field)))
	}
	for _, d := range c.Differences {
		if d.Field == "content" && c.Diff != "" && o.DiffLines != 0 {
			continue
		}
		if gone && d.New == "absent" && !o.Verbose { // the symbol of the change already shows this
			continue
		}
		old, now := s.value(d.Old), s.value(d.New)
		if o.Drift {
			old, now = "found "+old, "expected "+now
		}
		fmt.Fprintf(w, "      %s  %s %s %s\n", pad(Escape(d.Field), width), old, s.paint(dim, "->"), now)
	}
	if sealedChange(c) {
		fmt.Fprintf(w, "      %s\n", s.paint(dim, "the content is secret"))
	}
	if c.Binary {
		fmt.Fprintf(w, "      %s\n", s.paint(dim, "the content is not text"))
	}
}

// sealedChange reports whether the content changes and is not displayed, because it is secret.
func sealedChange(c plan.Change) bool {
	if c.From == nil || c.To == nil || c.From.File() == nil || c.To.File() == nil {
		return false
	}
	f, t := c.From.File(), c.To.File()
	return f.Digest != "" && t.Digest != "" && f.Digest != t.Digest && (f.Sealed != "" || t.Sealed != "")
}

// value returns one side of a difference: short, on one line, never empty.
func (s Style) value(v string) string {
	switch {
	case v == "":
		return s.paint(dim, "(none)")
	case strings.HasPrefix(v, "sha256:"):
		return Short(v)
	}
	return clip(Escape(v), 60)
}

// Diff prints a unified diff with an indent, at most limit lines of it; a negative limit prints all.
// It omits the headers with the names of the files, which the line above has.
func (s Style) Diff(w io.Writer, text, indent string, limit int) {
	lines := diffBody(text)
	for i, l := range lines {
		if limit >= 0 && i == limit {
			fmt.Fprintf(w, "%s%s\n", indent, s.paint(dim, fmt.Sprintf("… %s (-v shows all)", Count(len(lines)-i, "more line"))))
			return
		}
		fmt.Fprintln(w, indent+s.paint(diffColor(l), l))
	}
}

// diffBody returns the diff from its first hunk on.
func diffBody(text string) []string {
	lines := escapeLines(text)
	for i, l := range lines {
		if strings.HasPrefix(l, "@@") {
			return lines[i:]
		}
	}
	return lines
}

func diffColor(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "@@"):
		return cyan
	}
	return ""
}

// ListDiff prints coloured lines that begin with '+' or '-'.
func (s Style) ListDiff(w io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(w, s.paint(diffColor(l), Escape(l)))
	}
}
