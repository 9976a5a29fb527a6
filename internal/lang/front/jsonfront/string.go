package jsonfront

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"fettle.dev/fettle/internal/lang/front"
)

// string reads a text in double quotes.
func (p *parser) string() (*front.Node, *front.Error) {
	start := p.i
	var b strings.Builder
	p.i++
	for {
		switch c := p.peek(); {
		case p.i >= len(p.text) || c == '\n':
			return nil, p.errorf(start, "This string has no closing quote on its line. Write a line break in a string as \\n.")
		case c == '"':
			p.i++
			n := &front.Node{Kind: front.Text, Src: p.src, Start: start, End: p.i, Text: b.String()}
			n.Places = func() []int { return places(p.text, start, n.Text) }
			return n, nil
		case c < ' ':
			return nil, p.errorf(p.i, "A string cannot contain control characters. Write \\u%04x.", c)
		case c == '\\':
			r, length, err := p.escape()
			if err != nil {
				return nil, err
			}
			b.WriteRune(r)
			p.i += length
		default:
			b.WriteByte(c)
			p.i++
		}
	}
}

// plain has the escapes of one letter, each followed by its character.
const plain = `""\\//b` + "\b" + "f\fn\nr\rt\t"

// escape reads the escape sequence at the current position, and returns its length.
func (p *parser) escape() (rune, int, *front.Error) {
	if p.i+1 >= len(p.text) {
		return 0, 0, p.errorf(p.i, "The file ends within an escape sequence.")
	}
	for k := 0; k < len(plain); k += 2 {
		if plain[k] == p.text[p.i+1] {
			return rune(plain[k+1]), 2, nil
		}
	}
	r, ok := unit(p.text, p.i)
	switch {
	case !ok:
		return 0, 0, p.errorf(p.i,
			"This is not an escape sequence. Use one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits.")
	case !utf16.IsSurrogate(r):
		return r, 6, nil
	}
	low, _ := unit(p.text, p.i+6)
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, 0, p.errorf(p.i, "This is half of a surrogate pair. Write both halves, one after the other.")
	}
	return r, 12, nil
}

// unit reads \uXXXX at i.
func unit(text []byte, i int) (rune, bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
	return rune(n), err == nil
}

// places returns the place of each byte of a text that was read from start on.
func places(text []byte, start int, value string) []int {
	at := make([]int, len(value)+1)
	i := start + 1
	for j := 0; j < len(value); {
		width, length := 1, 1
		if text[i] == '\\' {
			_, width = utf8.DecodeRuneInString(value[j:])
			length = 2
			if r, ok := unit(text, i); ok {
				length = 6
				if utf16.IsSurrogate(r) {
					length = 12
				}
			}
		}
		for range width {
			at[j] = i
			j++
		}
		i += length
	}
	at[len(value)] = i
	return at
}
