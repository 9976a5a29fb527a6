// Package render formats data of fettle as text: plans, differences, diagnostics, tables, reports and
// progress. It makes no decisions and reads no input; the same data gives the same bytes.
//
//	s := render.Style{Color: true, Width: 100}
//	s.Plan(os.Stdout, p, render.PlanOptions{DiffLines: 40})
//
// Text from a host or a repository is escaped, so that its control characters never reach a terminal.
package render

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style describes the abilities of the screen. The zero value is plain text of any width.
type Style struct {
	Color bool
	Width int // columns; 0 is unlimited
}

// SGR codes. These are only the eight colours that every terminal theme defines. All information is
// also in the text.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	purple = "35"
	cyan   = "36"
)

// paint colours text with one SGR code.
func (s Style) paint(code, text string) string {
	if !s.Color || text == "" || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Escape makes foreign text safe for one line: control characters, characters that reorder text, and
// invalid UTF-8 become Go escapes. Safe text is returned unchanged.
func Escape(text string) string {
	if safe(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case visible(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

// visible reports whether a character is printed unescaped: printable characters, and the joiners and
// spaces of real languages. Other characters of category Cf reorder or hide text.
func visible(r rune) bool {
	return r == ' ' || unicode.IsPrint(r) || r == '\u00a0'
}

func safe(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return c >= utf8.RuneSelf && utf8.ValidString(text) &&
				!strings.ContainsFunc(text, func(r rune) bool { return !visible(r) })
		}
	}
	return true
}

// escapeLines is Escape for text of several lines.
func escapeLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = Escape(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    "))
	}
	return lines
}

// columns is the approximate width of text on a screen: one column for each character.
func columns(text string) int { return utf8.RuneCountInString(text) }

// pad adds blanks to text up to n columns.
func pad(text string, n int) string {
	if c := columns(text); c < n {
		return text + strings.Repeat(" ", n-c)
	}
	return text
}

// clip cuts text to n columns; 0 means no limit.
func clip(text string, n int) string {
	if n <= 0 || columns(text) <= n {
		return text
	}
	r := []rune(text)
	return string(r[:max(n-1, 0)]) + "…"
}

// wrap splits text at blanks into lines of at most width columns.
func wrap(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && columns(line)+1+columns(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Count returns a number with its noun: "1 step", "2 steps".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "s") {
		return strconv.Itoa(n) + " " + one + "es"
	}
	return strconv.Itoa(n) + " " + one + "s"
}
