package front

import (
	"bytes"
	"slices"

	"fettle.dev/fettle/internal/diag"
)

// Source is a text with its name. It is immutable and safe for concurrent use.
type Source struct {
	Name string
	Text []byte

	lines    []int // where each line begins
	counts   []int // characters before each block
	origin   *Source
	segments []Segment
}

// Segment maps the bytes of a rendered text from At on to the template. If Whole is false, they
// correspond one by one to the bytes from From on. Otherwise they all belong to the place From.
type Segment struct {
	At, From int
	Whole    bool
}

// NewSource makes a source of a file's text, which it keeps.
func NewSource(name string, text []byte) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}}
	n := 0
	for i, c := range text {
		if i%blockSize == 0 {
			s.counts = append(s.counts, n)
		}
		if !continues(c) {
			n++
		}
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	if len(text)%blockSize == 0 {
		s.counts = append(s.counts, n)
	}
	return s
}

// Rendered returns the source of a text that a template produced. Its places are in the template.
// The segments must be in the order of At.
func Rendered(text []byte, template *Source, segments []Segment) *Source {
	s := NewSource(template.Name, text)
	s.origin, s.segments = template, segments
	return s
}

// Range returns a range of bytes as lines and columns of the file that a user wrote. Numbers
// outside of the text are clamped to its ends.
func (s *Source) Range(start, end int) diag.Range {
	end = max(start, end)
	for s.origin != nil {
		start, end = s.from(start), s.from(end)
		end = max(start, end)
		s = s.origin
	}
	return diag.Range{File: s.Name, Start: s.pos(start), End: s.pos(end)}
}

// from returns the place in the template for a place in the rendered text.
func (s *Source) from(at int) int {
	i, found := slices.BinarySearchFunc(s.segments, at, func(g Segment, at int) int { return g.At - at })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	g := s.segments[i]
	if g.Whole {
		return g.From
	}
	return g.From + at - g.At
}

func (s *Source) pos(at int) diag.Pos {
	at = min(max(at, 0), len(s.Text))
	line, found := slices.BinarySearch(s.lines, at)
	if !found {
		line--
	}
	return diag.Pos{Line: line + 1, Column: s.characters(at) - s.characters(s.lines[line]) + 1, Byte: at}
}

// Offset returns the byte at a line and a column, both from 1, the column in characters. Places
// outside of the text are clamped to its ends.
func (s *Source) Offset(line, column int) int {
	switch {
	case line < 1:
		return 0
	case line > len(s.lines):
		return len(s.Text)
	}
	at := s.lines[line-1]
	if line == 1 && bytes.HasPrefix(s.Text, []byte("\ufeff")) {
		at += len("\ufeff")
	}
	want := s.characters(at) + column - 1
	block, found := slices.BinarySearch(s.counts, want)
	if !found {
		block--
	}
	if from := block * blockSize; from > at {
		at = from
	}
	for n := s.characters(at); at < len(s.Text) && s.Text[at] != '\n' && (n < want || continues(s.Text[at])); at++ {
		if !continues(s.Text[at]) {
			n++
		}
	}
	return at
}

// blockSize is the number of bytes that are counted in one step. A place is computed for each
// value, and a file can consist of one long line.
const blockSize = 256

func continues(c byte) bool { return c&0xc0 == 0x80 }

// characters returns the number of characters that begin before a byte.
func (s *Source) characters(at int) int {
	n := s.counts[at/blockSize]
	for _, c := range s.Text[at/blockSize*blockSize : at] {
		if !continues(c) {
			n++
		}
	}
	return n
}
