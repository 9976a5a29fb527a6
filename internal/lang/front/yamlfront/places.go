package yamlfront

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// places returns the place in the source of each byte of a scalar's value. The library returns only
// the beginning of a scalar, so places walks through value and source in parallel. It skips escapes
// according to the style. A run of blanks with a line break, which YAML folds or indents, counts as
// one. If the two do not match, the rest has the place of the end of the match.
func places(src []byte, start int, style yaml.Style, value string) []int {
	w := walker{src: src, i: start, value: value, at: make([]int, len(value)+1)}
	switch {
	case style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		if nl := bytes.IndexByte(src[min(start, len(src)):], '\n'); nl >= 0 {
			w.i = start + nl + 1
		}
	case style&yaml.DoubleQuotedStyle != 0:
		w.i++
		w.double = true
	case style&yaml.SingleQuotedStyle != 0:
		w.i++
		w.single = true
	}
	for w.j < len(value) && w.next() {
	}
	for ; w.j <= len(value); w.j++ {
		w.at[w.j] = min(w.i, len(src))
	}
	return w.at
}

type walker struct {
	src            []byte
	i              int // in src
	value          string
	j              int // in value
	at             []int
	unbroken       int // no line break among the blanks before this byte of src
	double, single bool
}

// next matches a character or a run of blanks; false when it cannot.
func (w *walker) next() bool {
	if w.i >= len(w.src) {
		return false
	}
	c := w.src[w.i]
	switch {
	case w.double && c == '\\':
		return w.escape()
	case blank(c) && w.breaks():
		for w.j < len(w.value) && blank(w.value[w.j]) {
			w.take(0, 1)
		}
		for w.i < len(w.src) && blank(w.src[w.i]) {
			w.i++
		}
	case c == w.value[w.j] && w.single && c == '\'':
		w.take(2, 1)
	case c == w.value[w.j]:
		w.take(1, 1)
	case blank(c): // indentation before the first line
		w.i++
	default:
		return false
	}
	return true
}

// take assigns the current place to the next bytes of the value, and advances in the source.
func (w *walker) take(source, value int) {
	for range min(value, len(w.value)-w.j) {
		w.at[w.j] = w.i
		w.j++
	}
	w.i += source
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// breaks reports whether the blanks from here contain a line break. A run without one is checked
// once.
func (w *walker) breaks() bool {
	if w.i < w.unbroken {
		return false
	}
	for i := w.i; i < len(w.src) && blank(w.src[i]); i++ {
		if w.src[i] == '\n' {
			return true
		}
		w.unbroken = i + 1
	}
	return false
}

// escape matches a backslash and the rest of its escape sequence.
func (w *walker) escape() bool {
	if w.i+1 >= len(w.src) {
		return false
	}
	length := 2
	switch w.src[w.i+1] {
	case '\n', '\r': // joins two lines
		w.i++
		for w.i < len(w.src) && blank(w.src[w.i]) {
			w.i++
		}
		return true
	case 'x':
		length = 4
	case 'u':
		length = 6
	case 'U':
		length = 10
	}
	if strings.IndexByte("nt r", w.src[w.i+1]) >= 0 && !blank(w.value[w.j]) {
		w.i += length // a blank that was counted with the run before it
		return true
	}
	_, n := utf8.DecodeRuneInString(w.value[w.j:])
	w.take(length, n)
	return true
}
