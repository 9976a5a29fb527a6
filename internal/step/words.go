package step

import (
	"errors"
	"strings"
)

// SplitWords splits a command line into words like a shell without expansion. Blanks, tabs and
// newlines separate. '…' protects everything, backslash the next character, and "…" everything
// but a backslash before one of " \ $ and the backquote. The error names the open quote.
// SplitWords(JoinWords(w)) is w.
func SplitWords(s string) ([]string, error) {
	var words []string
	for i := 0; i < len(s); {
		if isSeparator(s[i]) {
			i++
			continue
		}
		word, end, err := splitWord(s, i)
		if err != nil {
			return nil, err
		}
		words, i = append(words, word), end
	}
	return words, nil
}

func isSeparator(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// splitWord reads the word at start and returns the offset after it.
func splitWord(s string, start int) (word string, end int, err error) {
	i := start
	for i < len(s) && !isSeparator(s[i]) && !strings.ContainsRune(`'"\`, rune(s[i])) {
		i++
	}
	if i == len(s) || isSeparator(s[i]) {
		return s[start:i], i, nil
	}
	b := []byte(s[start:i])
	for i < len(s) && !isSeparator(s[i]) {
		switch s[i] {
		case '\'':
			n := strings.IndexByte(s[i+1:], '\'')
			if n < 0 {
				return "", 0, errors.New("cannot split the command: a single quote is not closed")
			}
			b = append(b, s[i+1:i+1+n]...)
			i += n + 2
		case '"':
			if b, i = appendDoubleQuoted(b, s, i+1); i < 0 {
				return "", 0, errors.New("cannot split the command: a double quote is not closed")
			}
		case '\\':
			if i+1 == len(s) {
				return "", 0, errors.New("cannot split the command: there is no character after the backslash at its end")
			}
			b = append(b, s[i+1])
			i += 2
		default:
			b = append(b, s[i])
			i++
		}
	}
	return string(b), i, nil
}

// appendDoubleQuoted reads up to the closing quote and returns the offset after it, -1 if there is
// none.
func appendDoubleQuoted(b []byte, s string, i int) ([]byte, int) {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b, i + 1
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0:
			i++
		}
		b = append(b, s[i])
	}
	return b, -1
}

// JoinWords is the command line that SplitWords cuts into these words. Words
// are quoted only where they must be.
func JoinWords(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		joinWord(&b, w)
	}
	return b.String()
}

func joinWord(b *strings.Builder, w string) {
	switch {
	case w != "" && !strings.ContainsAny(w, " \t\n'\"\\"):
		b.WriteString(w)
	case !strings.Contains(w, "'"):
		b.WriteString("'" + w + "'")
	default:
		b.WriteByte('"')
		for i := 0; i < len(w); i++ {
			if strings.IndexByte("\"\\$`", w[i]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(w[i])
		}
		b.WriteByte('"')
	}
}
