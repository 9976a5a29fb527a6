package lang

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"fettle.dev/fettle/internal/diag"
)

// readable refuses a source that is not text, or whose display differs from its content: a reviewer
// must see the same as the parser. It returns one diagnostic with its place, or none.
func readable(src []byte, file string) diag.List {
	for i := 0; i < len(src); {
		if c := src[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return at(src, file, i, n, "File is not text", "Files of the language are UTF-8, and here is a byte that is none. Save it as UTF-8.")
		case r == '\r' && bytes.HasPrefix(src[i:], []byte("\r\n")):
		case unicode.IsControl(r):
			return at(src, file, i, n, "Control character", fmt.Sprintf("Files of the language hold no control characters, and here is U+%04X. Take it out; in a quoted text write \\u%04x.", r, r))
		case turnsText(r):
			return at(src, file, i, n, "Invisible character", fmt.Sprintf("Here is U+%04X, which shows the text around it in another order than it is. Take it out; in a quoted text write \\u%04x.", r, r))
		}
		i += n
	}
	return nil
}

// turnsText reports characters that force the direction of text.
func turnsText(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// at is a diagnostic about n bytes of a source from i on.
func at(src []byte, file string, i, n int, summary, detail string) diag.List {
	line := bytes.Count(src[:i], []byte("\n")) + 1
	column := utf8.RuneCount(src[bytes.LastIndexByte(src[:i], '\n')+1:i]) + 1
	rng := diag.Range{File: file, Start: diag.Pos{Line: line, Column: column, Byte: i}, End: diag.Pos{Line: line, Column: column + 1, Byte: i + n}}
	return diag.List{diag.Errorf(rng, summary, "%s", detail).WithLine(src)}
}
