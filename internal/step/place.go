package step

import (
	"slices"
	"strings"
	"unicode/utf8"

	"fettle.dev/fettle/internal/diag"
)

// diagnostic is about a step that was read earlier. Its line is reconstructed from Written, so that
// columns point at the same characters.
func (s Step) diagnostic(sev diag.Severity, r diag.Range, summary, detail string) diag.Diagnostic {
	line := s.Written
	if line != "" && s.Range.Start.Column > 1 {
		line = strings.Repeat(" ", s.Range.Start.Column-1) + line
	}
	return diag.Diagnostic{Severity: sev, Summary: summary, Detail: detail, Range: r, Line: showable(line), Trace: s.Trace}
}

// subjectRange returns the place of the i-th subject, or of the whole step if it is unknown.
func (s Step) subjectRange(i int) diag.Range {
	if i < 0 {
		return s.Range
	}
	return s.rangeOf(func(tokens []token) int {
		if i+1 >= len(tokens) || tokens[i+1].key != "" {
			return -1
		}
		return i + 1
	})
}

// keyRange returns the place of the n-th attribute with that key, from 0.
func (s Step) keyRange(key string, n int) diag.Range {
	return s.rangeOf(func(tokens []token) int {
		return slices.IndexFunc(tokens, func(t token) bool {
			if t.key == key {
				n--
			}
			return t.key == key && n < 0
		})
	})
}

// rangeOf parses the written line again and lets which select the word.
func (s Step) rangeOf(which func([]token) int) diag.Range {
	if s.Written == "" || s.Range.Start.Line == 0 {
		return s.Range
	}
	tokens := lex(s.Written, nil).tokens
	i := which(tokens)
	if i < 0 {
		return s.Range
	}
	pos := func(at int) diag.Pos {
		p := s.Range.Start
		p.Column += utf8.RuneCountInString(s.Written[:at])
		p.Byte += at
		return p
	}
	return diag.Range{File: s.Range.File, Start: pos(tokens[i].start), End: pos(tokens[i].end)}
}
