package selection

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is how long one word may be, in bytes.
const maxWord = 64 << 10

// subject is what a factor looks at.
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

// factor is one condition.
type factor struct {
	what   subject
	not    bool
	text   string  // as it was written, without the mark; of a file its name
	key    pattern // of a label
	value  pattern // of a label; else what the name has to fit
	any    bool    // of a label: whatever its value
	differ bool    // of a label: KEY!=VALUE
}

// negative tells whether a term only takes away.
func (t term) negative() bool {
	for _, f := range t {
		if !f.not {
			return false
		}
	}
	return true
}

// parse reads one word: terms with commas between them. files tells whether it
// may name others.
func parse(word string, files bool) ([]term, error) {
	switch {
	case len(word) > maxWord:
		return nil, fmt.Errorf("it has more than %d bytes; put the names into a file, one a line, and give @FILE", maxWord)
	case !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsControl):
		return nil, errors.New("it is no line of text")
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
		return f, errors.New("a comma, & or ! has nothing beside it")
	case strings.HasPrefix(f.text, "!"):
		return f, errors.New("one ! is enough")
	case at && !files:
		return f, fmt.Errorf("%q stands in a file already, and files name no others", f.text)
	case at && name == "":
		return f, errors.New("@ is followed by failed or the name of a file")
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

// meantLabel is the error about KEY=VALUE where a name is expected. No target has such
// a name: the word selects nothing, and most often it was meant as a role or a label.
func meantLabel(text string) error {
	meant := "label:" + text
	key, value, _ := strings.Cut(text, "=")
	if key == "role" || key == "group" {
		meant = key + ":" + value
	}
	return fmt.Errorf(`%q is not a target name. Did you mean %q? For a name with this character, write \=`, text, meant)
}

// label reads KEY, KEY=VALUE and KEY!=VALUE.
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

// split cuts a text at a mark, but for marks behind \, in brackets and in braces.
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
		return nil, errors.New(`a [ has no ]; for the character itself write \[`)
	case depth > 0:
		return nil, errors.New(`a { has no }; for the character itself write \{`)
	}
	return append(out, text[begin:]), nil
}

// trim takes away the blanks around a text, but for one that is behind a \.
func trim(text string) string {
	text = strings.TrimLeft(text, " \t\r")
	short := strings.TrimRight(text, " \t\r")
	if marks := len(short) - len(strings.TrimRight(short, `\`)); marks%2 == 1 && len(short) < len(text) {
		return text[:len(short)+1]
	}
	return short
}

// plain is a text without the \ that take the meaning off characters.
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

// unescaped is where a character stands first that is not behind a \, -1 for
// nowhere.
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
