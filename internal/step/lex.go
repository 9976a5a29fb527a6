package step

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// token is one word of a line. start and end are byte offsets in the line.
type token struct {
	start, end int
	key        string // of key=value; "" for a verb or subject
	text       string // the word or the value, without quotes
	quoted     bool
}

// fault is an error without a place in a file: at is its token, or wholeLine.
type fault struct {
	at              int
	summary, detail string
}

const wholeLine = -1

// keyLen returns the length of KEY if s begins with KEY=…, otherwise 0.
func keyLen(s string) int {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '=':
			return i
		case (c < 'a' || c > 'z') && c != '_':
			return 0
		}
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// lexed is a line in words. comment is where '#' begins, or the line's length.
type lexed struct {
	tokens  []token
	comment int
	// bad is the error that ended the reading; its token is the last.
	bad *fault
}

// lex cuts a line into words, reusing the tokens given.
func lex(line string, tokens []token) lexed {
	out := lexed{tokens: tokens[:0], comment: len(line)}
	for i := 0; i < len(line); {
		switch {
		case isBlank(line[i]):
			i++
			continue
		case line[i] == '#':
			out.comment = i
			return out
		}
		out.tokens = append(out.tokens, token{start: i})
		t := &out.tokens[len(out.tokens)-1]
		if bad := t.read(line); bad != nil {
			bad.at = len(out.tokens) - 1
			out.bad = bad
			return out
		}
		i = t.end
	}
	return out
}

// read reads the word that begins at t.start.
func (t *token) read(line string) *fault {
	value := t.start
	if n := keyLen(line[value:]); n > 0 {
		t.key = line[value : value+n]
		value += n + 1
	}
	if value < len(line) && line[value] == '"' {
		return t.readQuoted(line, value)
	}
	return t.readBare(line, value)
}

func (t *token) readBare(line string, from int) *fault {
	i := from
	for i < len(line) && line[i] > ' ' && line[i] != '"' {
		i++
	}
	quote := i < len(line) && line[i] == '"'
	for i < len(line) && !isBlank(line[i]) {
		i++
	}
	t.end, t.text = i, line[from:i]
	switch {
	case quote:
		return &fault{summary: "Quote inside a word",
			detail: `A double quote can only be the first character of a value. Quote the whole value, and write \" for a quote inside: ` + strconv.Quote(
				clip(t.text)) + "."}
	case t.text != "" && (t.text[0] == '\'' || t.text[0] == '`'):
		return &fault{summary: "Wrong kind of quote",
			detail: `A value is quoted with double quotes, as in "two words". Exchange the ` + t.text[:1] + "."}
	}
	return nil
}

func (t *token) readQuoted(line string, from int) *fault {
	t.quoted = true
	i, escaped := from+1, false
	for i < len(line) && line[i] != '"' {
		if line[i] == '\\' {
			escaped = true
			i++
		}
		i++
	}
	if i >= len(line) {
		t.end = len(line)
		return &fault{summary: "Quote is not closed",
			detail: `The value begins with a double quote and the line ends before the closing one. A line break inside a value is written \n.`}
	}
	t.end, t.text = i+1, line[from+1:i]
	if escaped {
		text, err := strconv.Unquote(line[from : i+1])
		if err != nil {
			return &fault{summary: "Unknown escape",
				detail: `The quoted value contains a backslash that does not begin an escape of Go, such as \n, \t, \\, \" or \u00e9. Write \\ for a backslash.`}
		}
		t.text = text
	}
	if t.end < len(line) && !isBlank(line[t.end]) {
		return &fault{summary: "Text after a closing quote",
			detail: "A blank must follow the closing quote. Add a blank, or include the whole value in the quotes."}
	}
	return nil
}

// plain reports whether a line is printable ASCII and tabs: columns are then bytes, and no further
// check is needed. It checks eight bytes at a time; a byte below ' ' or above '~' sets its high bit
// in the sum.
func plain(line string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(line); i += 8 {
		s := line[i : i+8]
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (w|(w+ones)|(w-ones*' '))&highs != 0 && !plainBytes(s) {
			return false
		}
	}
	return plainBytes(line[i:])
}

func plainBytes(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < ' ' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// badText finds the first byte of a line that is not allowed there, with the reason. Comments can
// contain any visible or joining character.
func badText(line string) (at int, f *fault) {
	for i, r := range line {
		switch {
		case r == 0:
			return i, &fault{summary: "NUL byte", detail: "A list is text, and this line contains a NUL byte. Remove it."}
		case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD"):
			return i, &fault{summary: "Invalid UTF-8",
				detail: `A list is UTF-8 text. Write other bytes as an escape in quotes, such as "\xff".`}
		case (r < ' ' && r != '\t') || r == 0x7f:
			return i, &fault{summary: "Control character",
				detail: "A list cannot contain control characters. Inside quotes, write it as " + escapeOf(r) + "."}
		}
	}
	return 0, nil
}

// invisible finds the first invisible character of the text, which could make a line resemble
// another one.
func invisible(text string) (at int, f *fault) {
	for i, r := range text {
		if r >= utf8.RuneSelf && !strconv.IsPrint(r) {
			return i, &fault{summary: "Invisible character",
				detail: "The line contains an invisible character. Remove it, or write it in quotes as " + escapeOf(r) + "."}
		}
	}
	return 0, nil
}

func escapeOf(r rune) string {
	q := strconv.QuoteRuneToASCII(r)
	return q[1 : len(q)-1]
}

// clip shortens a user's text so that a message stays readable.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
