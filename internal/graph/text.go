package graph

import (
	"strings"
	"unicode"
)

// Parts of a long label that remain: the kind of an address is at its beginning, and the name at its end.
const (
	mostChars = 46
	endChars  = 30
)

// Shortened returns a label as a drawing shows it.
func Shortened(label string) string { return shortened(printable(label)) }

// text returns the text of the box of a node.
func (n Node) text() string {
	label := Shortened(n.Label)
	if n.State.Mark == "" {
		return label
	}
	return n.State.Mark + " " + label
}

// shortened returns a long text without its middle.
func shortened(text string) string {
	runes := []rune(text)
	if len(runes) <= mostChars {
		return text
	}
	return string(runes[:mostChars-endChars-1]) + "…" + string(runes[len(runes)-endChars:])
}

// printable replaces characters that are invisible or change the order of other characters. Newlines remain.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// columnsOfText returns the width of a text in characters of the font. Characters of East Asian scripts and emoji are
// twice as wide as letters.
func columnsOfText(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100 && !(r >= 0x2000 && r < 0x2e80) && r != unicode.ReplacementChar:
			n += 2
		default:
			n++
		}
	}
	return n
}
