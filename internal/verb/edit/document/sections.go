package document

import (
	"strings"

	"fettle.dev/fettle/internal/step"
)

// section is a part of a TOML or INI file below a header, or the part before the
// first one.
type section struct {
	header, end int // of the header's line; 0, 0 for the first part
	last        int // end of its last value, -1 when it has none
	first       bool
}

// sectioned has the common methods of TOML and INI: lines of keys and values below headers.
type sectioned interface {
	// line returns a line with a key, by its names, and a value. It has the style of the line like,
	// unless that is "".
	line(names []string, source, like string) string
	header(names []string) string
	// isHeader reports whether a line is a header.
	isHeader(line string) bool
}

func names(key []step.KeyPart) []string {
	var out []string
	for _, p := range key {
		out = append(out, p.Name)
	}
	return out
}

// insertLine inserts a line into a section, after its last one.
func insertLine(s sectioned, text string, sec *section, names []string, source string) string {
	switch {
	case sec.last >= 0:
		begin, end := lineStart(text, sec.last), lineEnd(text, sec.last)
		like := text[begin:end]
		return text[:end] + "\n" + indentOf(text, begin) + s.line(names, source, like) + text[end:]
	case !sec.first:
		end := lineEnd(text, sec.end)
		return text[:end] + "\n" + s.line(names, source, "") + text[end:]
	}
	line := s.line(names, source, "")
	at := firstHeader(s, text)
	switch {
	case at < len(text):
		return text[:at] + line + "\n" + text[at:]
	case text == "" || strings.HasSuffix(text, "\n"):
		return text + line + "\n"
	}
	return text + "\n" + line
}

// firstHeader is where the first header begins, with the comments right above it;
// the end of the text when there is none.
func firstHeader(s sectioned, text string) int {
	at, begin := 0, 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if s.isHeader(trimmed) {
			return begin
		}
		at += len(line)
		if !strings.HasPrefix(trimmed, "#") && !strings.HasPrefix(trimmed, ";") {
			begin = at
		}
	}
	return len(text)
}

// appendSection puts a header with one line to the end of the text.
func appendSection(s sectioned, text string, header []string, name, source, like string) string {
	made := s.header(header) + "\n" + s.line([]string{name}, source, like)
	switch {
	case text == "":
		return made + "\n"
	case strings.HasSuffix(text, "\n"):
		return text + "\n" + made + "\n"
	}
	return text + "\n\n" + made
}

// lineCuts take the lines of an item away.
func lineCuts(text string, begin, end int) []cut {
	from, to := lineStart(text, begin), lineEnd(text, end)
	next := to
	if i := strings.IndexByte(text[to:], '\n'); i >= 0 {
		next = to + i + 1
	}
	ways := []cut{{from, next, ""}}
	if from > 0 {
		ways = append(ways, cut{from - 1, to, ""}, cut{from - 1, end, ""})
	}
	return ways
}

// sectionCuts take a section away: with the blank line before it as it was put
// there, or up to the next header.
func sectionCuts(s sectioned, text string, n *node) []cut {
	sec := anySection(n)
	if sec == nil {
		return nil
	}
	var ways []cut
	if sec.last >= 0 {
		end := lineEnd(text, sec.last)
		for _, begin := range []int{sec.header - 2, sec.header - 1, sec.header} {
			ways = append(ways, cut{begin, end + 1, ""}, cut{begin, end, ""})
		}
	}
	next := len(text)
	at := lineEnd(text, sec.end) + 1
	if at <= len(text) {
		next = at
		for line := range strings.Lines(text[at:]) {
			if s.isHeader(strings.TrimSpace(line)) {
				break
			}
			next += len(line)
		}
	}
	return append([]cut{{sec.header, next, ""}}, ways...)
}

// ofLines reports whether a value has no text of its own, but lines below headers or with dotted
// keys.
func (n *node) ofLines() bool {
	if n.section != nil || n.implicit {
		return true
	}
	for _, it := range n.items {
		if n.kind == sequence && it.value.ofLines() {
			return true
		}
	}
	return false
}

func anySection(n *node) *section {
	if n.section != nil {
		return n.section
	}
	for _, it := range n.items {
		if sec := anySection(it.value); sec != nil {
			return sec
		}
	}
	return nil
}
