package step

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// String returns the canonical line, without newline and source comment. Subjects are in order,
// keys in the schema's order. Values are bare if they read back the same, otherwise quoted. Parse
// returns an equal step.
func (s Step) String() string {
	if s.canonical != "" {
		return s.canonical
	}
	var buf [256]byte
	return string(s.appendTo(buf[:0]))
}

// String is the canonical text: String of every step, each with a newline.
func (l List) String() string {
	b := make([]byte, 0, 80*len(l))
	for _, s := range l {
		b = append(s.appendTo(b), '\n')
	}
	return string(b)
}

// PrintOptions are the options of Print. The zero value prints canonical text.
type PrintOptions struct {
	// Source adds the source comment " #@ file:line" to steps that have one.
	Source bool
}

// Print writes the canonical text of a list. The error is the writer's.
func Print(w io.Writer, l List, opt PrintOptions) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var b []byte
	for _, s := range l {
		b = s.appendTo(b[:0])
		if opt.Source && s.Source != "" {
			b = append(b, " #@ "...)
			b = append(b, oneLine(s.Source)...)
		}
		out.Write(append(b, '\n')) // bufio keeps the error for Flush
	}
	return out.Flush()
}

// Kept returns the step with its canonical line cached, for steps whose line is used repeatedly.
func (s Step) Kept() Step {
	s.canonical = s.String()
	return s
}

func (s Step) appendTo(b []byte) []byte {
	if s.canonical != "" {
		return append(b, s.canonical...)
	}
	b = append(b, s.Verb...)
	for _, a := range s.Args {
		b = appendSubject(append(b, ' '), a)
	}
	for _, a := range s.ordered() {
		b = append(append(b, ' '), a.Key...)
		b = appendValue(append(b, '='), a.Value)
	}
	return b
}

// ordered returns Attrs in the schema's order; unknown keys are last.
func (s Step) ordered() []Attr {
	if len(s.Attrs) < 2 {
		return s.Attrs
	}
	sh := shapes[string(s.Verb)]
	if sh == nil {
		return s.Attrs
	}
	byKey := func(a, b Attr) int { return sh.order(a.Key) - sh.order(b.Key) }
	if slices.IsSortedFunc(s.Attrs, byKey) {
		return s.Attrs
	}
	out := slices.Clone(s.Attrs)
	slices.SortStableFunc(out, byKey)
	return out
}

func (sh *shape) order(key string) int {
	if i := sh.index(key); i >= 0 {
		return i
	}
	return len(sh.keys)
}

func appendSubject(b []byte, v string) []byte {
	if !bareSafe(v) || v[0] == '#' || keyLen(v) > 0 {
		return strconv.AppendQuote(b, v)
	}
	return append(b, v...)
}

func appendValue(b []byte, v string) []byte {
	if !bareSafe(v) {
		return strconv.AppendQuote(b, v)
	}
	return append(b, v...)
}

// bareSafe reports whether v without quotes reads back as v: not empty, no blanks, no double
// quotes, nothing invisible, and no quote of another kind at its beginning.
func bareSafe(v string) bool {
	if v == "" || v[0] == '\'' || v[0] == '`' {
		return false
	}
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c >= utf8.RuneSelf:
			return bareSafeUnicode(v)
		case c <= ' ' || c == '"' || c == 0x7f:
			return false
		}
	}
	return true
}

func bareSafeUnicode(v string) bool {
	return utf8.ValidString(v) && !strings.ContainsFunc(v, func(r rune) bool {
		return r == ' ' || r == '"' || !strconv.IsPrint(r)
	})
}

// oneLine makes a source safe for a comment, independent of its origin.
func oneLine(s string) string {
	s = strings.TrimSpace(s)
	if isPrintable(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, s)
}

func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}
