package selection

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord limits an argument, in bytes.
const maxWord = 64 << 10

// subject is the property that a factor tests.
type subject uint8

const (
	byName subject = iota
	byGroup
	byRole
	byLabel
	atFailed
	atFile
)

// term is an intersection of factors.
type term []factor

// factor is a condition.
type factor struct {
	what   subject
	not    bool
	text   string  // as written, without the !; for a file its name
	key    pattern // for a label
	value  pattern // for a label its value, otherwise the name
	any    bool    // for a label: any value
	differ bool    // for a label: KEY!=VALUE
}

// negative reports whether a term only excludes targets.
func (t term) negative() bool {
	for _, f := range t {
		if !f.not {
			return false
		}
	}
	return true
}

// parse parses one argument: terms separated by commas. If files is false, it refuses files.
func parse(word string, files bool) ([]term, error) {
	switch {
	case len(word) > maxWord:
		return nil, fmt.Errorf("it has more than %d bytes; put the names into a file, one per line, and use @FILE", maxWord)
	case !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsControl):
		return nil, errors.New("it must be one line of text without control characters")
	}
	parts, err := split(word, ',')
	if err != nil {
		return nil, err
	}
	var out []term
	for _, part := range parts {
		t, err := parseTerm(part, files)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func parseTerm(text string, files bool) (term, error) {
	parts, err := split(text, '&')
	if err != nil {
		return nil, err
	}
	var out term
	for _, part := range parts {
		f, err := parseFactor(trim(part), files)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func parseFactor(text string, files bool) (factor, error) {
	var f factor
	var err error
	if f.text, f.not = strings.CutPrefix(text, "!"); f.not {
		f.text = trim(f.text)
	}
	kind, rest, _ := strings.Cut(f.text, ":")
	name, at := strings.CutPrefix(f.text, "@")
	switch {
	case f.text == "":
		return f, errors.New("the name next to a comma, & or ! sign is missing")
	case strings.HasPrefix(f.text, "!"):
		return f, errors.New("use ! only once")
	case at && !files:
		return f, fmt.Errorf("%q is in a file, and a file cannot refer to another file or to @failed", f.text)
	case at && name == "":
		return f, errors.New("write @failed, or @ and the name of a file")
	case f.text == "@failed":
		f.what = atFailed
	case at:
		f.what, f.text = atFile, plain(name)
	case f.text == kind && unescaped(f.text, '=') >= 0:
		return f, meantLabel(f.text)
	case f.text == kind:
		f.value, err = newPattern(f.text)
	case kind == "group":
		f.what = byGroup
		f.value, err = newPattern(rest)
	case kind == "role":
		f.what = byRole
		f.value, err = newPattern(rest)
	case kind == "label":
		f.what = byLabel
		err = f.label(rest)
	default:
		f.value, err = newPattern(f.text)
	}
	return f, err
}

// meantLabel returns the error for KEY=VALUE as a name. No target has such a name, and the user
// probably meant a role or a label.
func meantLabel(text string) error {
	meant := "label:" + text
	key, value, _ := strings.Cut(text, "=")
	if key == "role" || key == "group" {
		meant = key + ":" + value
	}
	return fmt.Errorf(`%q is not a target name. Did you mean %q? For a name with this character, write \=`, text, meant)
}

// label parses KEY, KEY=VALUE and KEY!=VALUE.
func (f *factor) label(text string) error {
	at := unescaped(text, '=')
	if at < 0 {
		f.any = true
		var err error
		f.key, err = newPattern(text)
		return err
	}
	key := text[:at]
	key, f.differ = strings.CutSuffix(key, "!")
	var err error
	if f.key, err = newPattern(key); err != nil {
		return err
	}
	if value := text[at+1:]; value != "" {
		f.value, err = newPattern(value)
	}
	return err
}

// split splits a text at a mark, except after \, in brackets and in braces.
func split(text string, mark byte) ([]string, error) {
	var out []string
	begin, depth, class := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == mark && depth == 0:
			out = append(out, text[begin:i])
			begin = i + 1
		}
	}
	switch {
	case class:
		return nil, errors.New(`a [ has no ]; for the character [ write \[`)
	case depth > 0:
		return nil, errors.New(`a { has no }; for the character { write \{`)
	}
	return append(out, text[begin:]), nil
}

// trim removes surrounding blanks, except a blank after \.
func trim(text string) string {
	text = strings.TrimLeft(text, " \t\r")
	short := strings.TrimRight(text, " \t\r")
	if marks := len(short) - len(strings.TrimRight(short, `\`)); marks%2 == 1 && len(short) < len(text) {
		return text[:len(short)+1]
	}
	return short
}

// plain removes each \ that escapes a character.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescaped returns the index of the first unescaped character c, or -1.
func unescaped(text string, c byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case c:
			return i
		}
	}
	return -1
}
