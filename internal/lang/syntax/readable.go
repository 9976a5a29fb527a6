package syntax

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"fettle.dev/fettle/internal/diag"
)

// Readable refuses a source that is not text, or whose display differs from its content: a reviewer
// must see the same as the parser. It returns one diagnostic with its place, or none.
func Readable(src []byte, file string) diag.List {
	for i := 0; i < len(src); {
		if c := src[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return at(src, file, i, n, "File is not text",
				"Configuration files must be UTF-8, and this byte is not valid UTF-8. Save the file as UTF-8.")
		case r == '\r' && bytes.HasPrefix(src[i:], []byte("\r\n")):
		case unicode.IsControl(r):
			return at(src, file, i, n, "Control character", fmt.Sprintf(
				"Configuration files cannot contain control characters, and this is U+%04X. Remove it. In a quoted string write \\u%04x.",
				r,
				r))
		case turnsText(r):
			return at(src, file, i, n, "Invisible character", fmt.Sprintf(
				"U+%04X makes editors show the text in a different order than fettle reads it. Remove it. In a quoted string write \\u%04x.",
				r,
				r))
		}
		i += n
	}
	return nil
}

// turnsText reports characters that force the direction of text.
func turnsText(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// at returns a diagnostic about n bytes of a source, beginning at byte i.
func at(src []byte, file string, i, n int, summary, detail string) diag.List {
	line := bytes.Count(src[:i], []byte("\n")) + 1
	column := utf8.RuneCount(src[bytes.LastIndexByte(src[:i], '\n')+1:i]) + 1
	rng := diag.Range{File: file, Start: diag.Pos{Line: line, Column: column, Byte: i},
		End: diag.Pos{Line: line, Column: column + 1, Byte: i + n}}
	return diag.List{diag.Errorf(rng, summary, "%s", detail).WithLine(src)}
}
