package step

import (
	"fmt"
	"strconv"
	"strings"
)

// KeyPart is one part of the key of an EDIT with format=: a name, or an entry of
// a list.
type KeyPart struct {
	Name  string
	Entry int // from 0; -1 for a name
}

// SplitKey splits the key of an EDIT with format= into its parts: names joined by dots. A name with
// characters other than letters, digits, _, - and @ is in double quotes as in Go. [N] is the entry
// of a list, from 0.
//
//	SplitKey(`log."max size"[0]`) // log, max size, the first entry
//
// The error describes the correct form.
func SplitKey(key string) ([]KeyPart, error) {
	var out []KeyPart
	for rest := key; ; {
		name, after, err := keyName(rest)
		if err != nil {
			return nil, err
		}
		out, rest = append(out, KeyPart{name, -1}), after
		for strings.HasPrefix(rest, "[") {
			end := strings.IndexByte(rest, ']')
			if end < 2 || !entryNumber(rest[1:end]) {
				return nil, fmt.Errorf("the key %q has a [ without a number and ]; write [0] for an entry of a list, and double quotes around a name with brackets", clip(
					key))
			}
			n, _ := strconv.Atoi(rest[1:end])
			out, rest = append(out, KeyPart{"", n}), rest[end+1:]
		}
		switch {
		case rest == "":
			return out, nil
		case rest[0] != '.':
			return nil, fmt.Errorf("the key %q continues with %q instead of a dot; put the name into double quotes", clip(key),
				clip(rest))
		}
		rest = rest[1:]
	}
}

// keyName reads one name.
func keyName(text string) (name, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", fmt.Errorf("the key has a name without its closing quote: %s", clip(text))
		}
		name, err := strconv.Unquote(quoted)
		if err != nil || strings.ContainsAny(name, "\n\r\x00") {
			return "", "", fmt.Errorf("the key has a name with a character that a line cannot contain: %s", clip(quoted))
		}
		return name, text[len(quoted):], nil
	}
	end := strings.IndexFunc(text, func(c rune) bool { return !plainKey(c) })
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return "", "", fmt.Errorf("the key has an empty name at %q; write double quotes around a name with characters other than letters, digits, _, - and @", clip(
			text))
	}
	return text[:end], text[end:], nil
}

func plainKey(c rune) bool {
	return c == '_' || c == '-' || c == '@' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func entryNumber(s string) bool {
	return len(s) < 7 && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

// JoinKey is the key of those parts, in the one spelling that an EDIT may have.
func JoinKey(parts []KeyPart) string {
	var b strings.Builder
	for i, p := range parts {
		switch {
		case p.Entry >= 0:
			fmt.Fprintf(&b, "[%d]", p.Entry)
			continue
		case i > 0:
			b.WriteByte('.')
		}
		if p.Name == "" || strings.ContainsFunc(p.Name, func(c rune) bool { return !plainKey(c) }) {
			b.WriteString(strconv.Quote(p.Name))
			continue
		}
		b.WriteString(p.Name)
	}
	return b.String()
}
