package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// tomlSyntax is TOML 1.0.
type tomlSyntax struct{}

// tomlReader reads a text from its beginning.
type tomlReader struct {
	scanner
	root, in *node // in is the table that receives keys
}

func (tomlSyntax) parse(text string) (*node, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, errors.New("it is not UTF-8 text")
	}
	root := &node{kind: mapping, section: &section{last: -1, first: true}}
	r := &tomlReader{scanner{text: text}, root, root}
	for {
		r.pass(" \t\r\n", true)
		if r.at >= len(text) {
			return root, nil
		}
		var err error
		if r.peek() == '[' {
			err = r.table()
		} else {
			err = r.keyValue(r.in, r.in.section)
		}
		if err != nil {
			return nil, err
		}
		r.pass(" \t\r", true)
		if r.at < len(text) && r.peek() != '\n' {
			return nil, r.fail("there is more text after the value")
		}
	}
}

// pass passes blanks, and comments up to the end of their line.
func (r *tomlReader) pass(blanks string, comments bool) {
	for {
		r.at = len(r.text) - len(strings.TrimLeft(r.rest(), blanks))
		if !comments || r.peek() != '#' {
			return
		}
		end := strings.IndexByte(r.rest(), '\n')
		if end < 0 {
			end = len(r.rest())
		}
		r.at += end
	}
}

var bareTOML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+`) })

// key reads names joined by dots.
func (r *tomlReader) key() ([]string, error) {
	var out []string
	for {
		r.pass(" \t", false)
		var name string
		switch c := r.peek(); {
		case c == '"' || c == '\'':
			v, err := r.text1(c, false)
			if err != nil {
				return nil, err
			}
			name = v
		default:
			name = bareTOML().FindString(r.rest())
			if name == "" {
				return nil, r.fail("a key is missing here")
			}
			r.at += len(name)
		}
		out = append(out, name)
		r.pass(" \t", false)
		if r.peek() != '.' {
			return out, nil
		}
		r.at++
	}
}

// table reads a header.
func (r *tomlReader) table() error {
	begin := r.at
	list := strings.HasPrefix(r.rest(), "[[")
	closing := "]"
	if r.at++; list {
		r.at++
		closing = "]]"
	}
	names, err := r.key()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(r.rest(), closing) {
		return r.fail("a table header has no closing bracket")
	}
	r.at += len(closing)
	n, last := r.root, len(names)-1
	for i, name := range names {
		it := find(n, name)
		switch {
		case it == nil:
			n.items = append(n.items, item{key: name, start: begin, end: r.at,
				value: &node{kind: mapping, start: begin, end: r.at, implicit: true}})
			it = &n.items[len(n.items)-1]
			if i == last && list {
				it.value = &node{kind: sequence, start: begin, end: r.at}
			}
		case it.value.flow || it.value.kind == scalar || it.value.names != nil:
			return r.fail(fmt.Sprintf("%q already has a value", name))
		case i == last && !list && (it.value.section != nil || it.value.kind != mapping), i == last && list &&
			it.value.kind != sequence:
			return r.fail(fmt.Sprintf("the file contains the table %q twice", name))
		}
		n = it.value
		if i == last && list {
			n.items = append(n.items, item{start: begin, end: r.at, value: &node{kind: mapping, start: begin, end: r.at}})
		}
		if n.kind == sequence {
			if len(n.items) == 0 {
				return r.fail(fmt.Sprintf("%q is a list", name))
			}
			n = n.items[len(n.items)-1].value
		}
	}
	n.implicit = false
	n.section = &section{header: begin, end: r.at, last: -1}
	r.in = n
	return nil
}

func find(n *node, name string) *item {
	i := slices.IndexFunc(n.items, func(it item) bool { return it.key == name })
	if i < 0 {
		return nil
	}
	return &n.items[i]
}

// keyValue reads a key and its value into a table.
func (r *tomlReader) keyValue(in *node, sec *section) error {
	begin := r.at
	names, err := r.key()
	if err != nil {
		return err
	}
	if r.peek() != '=' {
		return r.fail("an equals sign is missing here")
	}
	r.at++
	r.pass(" \t", false)
	v, err := r.value(0)
	if err != nil {
		return err
	}
	n := in
	for i, name := range names {
		it := find(n, name)
		if i == len(names)-1 {
			if it != nil {
				return r.fail(fmt.Sprintf("the file contains the key %q twice", name))
			}
			n.items = append(n.items, item{key: name, start: begin, end: v.end, value: v})
			break
		}
		if it == nil {
			n.items = append(n.items, item{key: name, start: begin, end: v.end,
				value: &node{kind: mapping, start: begin, end: v.end, implicit: true, names: names[:i+1], section: nil}})
			it = &n.items[len(n.items)-1]
		}
		if it.value.kind != mapping || it.value.flow || it.value.names == nil {
			return r.fail(fmt.Sprintf("%q is not a table of dotted keys", name))
		}
		it.end, it.value.end = v.end, v.end
		n = it.value
	}
	if sec != nil {
		sec.last = v.end
	}
	return nil
}

func (r *tomlReader) value(depth int) (*node, error) {
	n := &node{kind: scalar, start: r.at}
	if depth > maxDepth {
		return nil, r.fail("values are nested too deeply")
	}
	switch c := r.peek(); c {
	case '"', '\'':
		text, err := r.text1(c, true)
		n.scalar, n.end = quote(text), r.at
		return n, err
	case '[':
		n.kind, n.flow, n.open = sequence, true, r.at+1
		return n, r.brackets(n, ']', func() error {
			begin := r.at
			v, err := r.value(depth + 1)
			if err == nil {
				n.items = append(n.items, item{start: begin, end: v.end, value: v})
			}
			return err
		})
	case '{':
		n.kind, n.flow, n.open = mapping, true, r.at+1
		return n, r.brackets(n, '}', func() error { return r.keyValue(n, nil) })
	}
	end := strings.IndexAny(r.rest(), ",]}#\r\n")
	if end < 0 {
		end = len(r.rest())
	}
	word := strings.TrimRight(r.text[r.at:r.at+end], " \t")
	canonical, ok := tomlWord(word)
	if !ok {
		return nil, r.fail(fmt.Sprintf("%.40q is not a value", word))
	}
	r.at += len(word)
	n.scalar, n.end = canonical, r.at
	return n, nil
}

// brackets reads the elements between brackets, separated by commas.
func (r *tomlReader) brackets(n *node, closing byte, one func() error) error {
	blanks, comments := " \t\r\n", true
	if closing == '}' {
		blanks, comments = " \t", false
	}
	for r.at++; ; r.at++ {
		r.pass(blanks, comments)
		if r.peek() == closing && (closing == ']' || len(n.items) == 0) {
			break
		}
		if err := one(); err != nil {
			return err
		}
		r.pass(blanks, comments)
		if r.peek() == closing {
			break
		}
		if r.peek() != ',' {
			return r.fail("a comma, or the end of the list or table, is missing here")
		}
	}
	r.at++
	n.end = r.at
	return nil
}

// text1 reads a text in quotes, of several lines where that may be.
func (r *tomlReader) text1(q byte, many bool) (string, error) {
	mark := strings.Repeat(string(q), 3)
	if many && strings.HasPrefix(r.rest(), mark) {
		return r.longText(q, mark)
	}
	for i := r.at + 1; i < len(r.text) && r.text[i] != '\n'; i++ {
		switch {
		case q == '"' && r.text[i] == '\\':
			i++
		case r.text[i] == q:
			raw := r.text[r.at+1 : i]
			r.at = i + 1
			if q == '\'' {
				return raw, nil
			}
			return unescaped(raw)
		}
	}
	return "", r.fail("a text has no closing quote")
}

func (r *tomlReader) longText(q byte, mark string) (string, error) {
	for i := r.at + 3; i+3 <= len(r.text); i++ {
		if q == '"' && r.text[i] == '\\' {
			i++
			continue
		}
		if r.text[i:i+3] != mark {
			continue
		}
		for n := 0; n < 2 && i+3 < len(r.text) && r.text[i+3] == q; n++ { // quotes that end the text itself
			i++
		}
		raw := strings.TrimPrefix(strings.TrimPrefix(r.text[r.at+3:i], "\r"), "\n")
		r.at = i + 3
		if q == '\'' {
			return raw, nil
		}
		return unescaped(foldedTOML().ReplaceAllString(raw, ""))
	}
	return "", r.fail("a text has no closing quote")
}

var (
	foldedTOML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[ \t\r]*\n[ \t\r\n]*`) })
	longEscape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(U[0-9A-Fa-f]{8}|.)`) })
)

// unescaped decodes the escapes of a text: the escapes of JSON, and \U.
func unescaped(raw string) (string, error) {
	raw = longEscape().ReplaceAllStringFunc(raw, func(e string) string {
		if e[1] == 'U' && len(e) == 10 {
			n, err := strconv.ParseUint(e[2:], 16, 32)
			if err == nil && utf8.ValidRune(rune(n)) {
				text := quote(string(rune(n)))
				return text[1 : len(text)-1]
			}
		}
		return e
	})
	raw = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(raw)
	var out string
	if err := json.Unmarshal([]byte(`"`+strings.ReplaceAll(bareQuotes(raw), "\x00", "")+`"`), &out); err != nil {
		return "", errors.New("a text has an escape that TOML does not allow")
	}
	return out, nil
}

// bareQuotes puts a backslash before quotes that have none.
func bareQuotes(raw string) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] == '\\' && i+1 < len(raw):
			b.WriteByte(raw[i])
			i++
		case raw[i] == '"':
			b.WriteByte('\\')
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

var (
	tomlNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?([0-9]+(_[0-9]+)*)([.][0-9]+(_[0-9]+)*)?([eE][-+]?[0-9]+)?$`)
	})
	tomlBased = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0[xob][0-9A-Fa-f]+(_[0-9A-Fa-f]+)*$`) })
	tomlDate  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9:.]+([Zz]|[-+][0-9:]+)?)?|[0-9]{2}:[0-9]{2}[0-9:.]*)$`)
	})
)

// tomlWord returns a value without quotes in canonical form. Dates, and numbers that JSON cannot
// represent, become texts.
func tomlWord(word string) (string, bool) {
	plain := strings.TrimPrefix(strings.ReplaceAll(word, "_", ""), "+")
	switch {
	case word == "true" || word == "false":
		return word, true
	case tomlNumber().MatchString(word):
		return number(plain), true
	case tomlBased().MatchString(word):
		n, err := strconv.ParseInt(plain, 0, 64)
		return strconv.FormatInt(n, 10), err == nil
	case tomlDate().MatchString(word), plain == "inf" || plain == "-inf" || plain == "nan" || plain == "-nan":
		return quote(word), true
	}
	return "", false
}
