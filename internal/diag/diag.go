// Package diag defines diagnostics: errors in a user's configuration, each with its place, the
// source line, and the remedy.
//
// Errors in configuration are diagnostics, many at once; every other failure is an error. This
// package prints nothing: ui does.
//
//	d := diag.Errorf(rng, "Unknown attribute", "A file has no attribute %q. Did you mean %q?", "ower", "owner")
//	return diag.List{d}.Err()
package diag

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Pos is a place in a file. Line and Column count from 1, Column in Unicode
// characters; Byte counts from 0. The zero Pos means "the file as a whole".
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Range is a stretch of one file, End exclusive. File is the path that the
// user knows it by, relative to the repository where there is one.
type Range struct {
	File  string `json:"file"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
}

// String returns file:line:column, or less if less is known.
func (r Range) String() string {
	switch {
	case r.File == "" && r.Start.Line == 0:
		return ""
	case r.Start.Line == 0:
		return r.File
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Start.Line, r.Start.Column)
}

// Severity determines whether a diagnostic stops the work. The zero value does.
type Severity uint8

const (
	// Error stops the work before anything is changed.
	Error Severity = iota
	// Warning is shown, and the work continues.
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one configuration error. Summary is a short fixed sentence without the user's own
// names. Detail has full sentences: the problem, its cause, the remedy.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail"`
	Range    Range    `json:"range"`
	// Line is the text of the source line at Range.Start, without its newline.
	Line string `json:"line,omitempty"`
	// Trace leads from the place of the error outwards: the include, the template call, the module.
	// Innermost first. If Range is the use of a kind that is written in the language, the trace
	// leads inwards to the place within the kind.
	Trace []Range `json:"trace,omitempty"`
}

// Errorf makes an error diagnostic; the detail is formatted. Texts of more than
// MaxText bytes are cut: a name or value can be as long as its author likes.
func Errorf(r Range, summary, detail string, args ...any) Diagnostic {
	short := args
	for i, a := range args {
		text := ""
		switch a := a.(type) {
		case string:
			text = a
		case error:
			text = a.Error()
		}
		if len(text) > MaxText {
			if &short[0] == &args[0] {
				short = append([]any(nil), args...)
			}
			short[i] = Shortened(text)
		}
	}
	return Diagnostic{Severity: Error, Summary: summary, Detail: fmt.Sprintf(detail, short...), Range: r}
}

// UsedAt moves a diagnostic inside a kind to the place where the kind is used. way has the uses
// that lead there, innermost first. Users fix the error at the use, so that place is first, and the
// place inside the kind last. Without a way, the diagnostic is returned unchanged.
func (d Diagnostic) UsedAt(way []Range) Diagnostic {
	if len(way) == 0 {
		return d
	}
	all := slices.Concat([]Range{d.Range}, d.Trace, way)
	slices.Reverse(all)
	d.Range, d.Trace, d.Line = all[0], all[1:], ""
	return d
}

// MaxText is how long a text in a diagnostic may be, in bytes.
const MaxText = 2 << 10

// Shortened is s, or its beginning where it is longer than MaxText.
func Shortened(s string) string {
	if len(s) <= MaxText {
		return s
	}
	cut := MaxText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// Warningf makes a warning; the detail is formatted.
func Warningf(r Range, summary, detail string, args ...any) Diagnostic {
	d := Errorf(r, summary, detail, args...)
	d.Severity = Warning
	return d
}

// String is the one-line form: "file:1:2: error: summary. detail".
func (d Diagnostic) String() string {
	var b strings.Builder
	if p := d.Range.String(); p != "" {
		b.WriteString(p + ": ")
	}
	b.WriteString(d.Severity.String() + ": " + d.Summary)
	if d.Detail != "" {
		b.WriteString(": " + d.Detail)
	}
	return b.String()
}

// WithLine returns d with Line cut out of src, the whole text of its file.
func (d Diagnostic) WithLine(src []byte) Diagnostic {
	if d.Range.Start.Line < 1 {
		return d
	}
	d.Line = LineAt(src, d.Range.Start.Line)
	return d
}

// LineAt is line n (from 1) of src without its newline, "" when there is none.
func LineAt(src []byte, n int) string {
	rest := string(src)
	for ; n > 1; n-- {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return ""
		}
		rest = after
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSuffix(line, "\r")
}

// List is any number of diagnostics.
type List []Diagnostic

// HasErrors reports whether a diagnostic stops the work.
func (l List) HasErrors() bool {
	for _, d := range l {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Sort sorts by file, line, column, then text, so that the same errors have the same order on every
// host.
func (l List) Sort() {
	sort.SliceStable(l, func(i, j int) bool {
		a, b := l[i], l[j]
		switch {
		case a.Range.File != b.Range.File:
			return a.Range.File < b.Range.File
		case a.Range.Start.Line != b.Range.Start.Line:
			return a.Range.Start.Line < b.Range.Start.Line
		case a.Range.Start.Column != b.Range.Start.Column:
			return a.Range.Start.Column < b.Range.Start.Column
		}
		return a.Detail < b.Detail
	})
}

// Err is l as an error, or nil when l holds no error. The error unwraps to a
// ListError, from which ui takes the diagnostics back with errors.As.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return &ListError{List: l}
}

// ListError carries diagnostics through code that returns error.
type ListError struct{ List List }

func (e *ListError) Error() string {
	lines := make([]string, 0, len(e.List))
	for _, d := range e.List {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}
