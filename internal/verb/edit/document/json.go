package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"fettle.dev/fettle/internal/step"
)

// maxDepth is how deep values may be in one another.
const maxDepth = 200

// jsonSyntax is JSON, with // and /* */ comments, as many programs take it.
type jsonSyntax struct{}

// scanner reads a text from left to right.
type scanner struct {
	text string
	at   int
}

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// fail is an error with the line.
func (s *scanner) fail(what string) error {
	return fmt.Errorf("line %d: %s", 1+strings.Count(s.text[:min(s.at, len(s.text))], "\n"), what)
}

// blank passes blanks and comments.
func (s *scanner) blank() {
	for {
		s.at = len(s.text) - len(strings.TrimLeft(s.rest(), " \t\r\n"))
		end := -1
		switch {
		case strings.HasPrefix(s.rest(), "//"):
			end = strings.IndexByte(s.rest(), '\n')
		case strings.HasPrefix(s.rest(), "/*"):
			if end = strings.Index(s.rest(), "*/"); end >= 0 {
				end += 2
			}
		default:
			return
		}
		if end < 0 {
			end = len(s.rest())
		}
		s.at += end
	}
}

func (jsonSyntax) parse(text string) (*node, error) {
	s := &scanner{text: text}
	if strings.HasPrefix(text, "\ufeff") {
		s.at = len("\ufeff")
	}
	s.blank()
	if s.at == len(text) {
		return &node{kind: mapping, start: len(text), end: len(text), open: len(text)}, nil
	}
	n, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if s.blank(); s.at < len(text) {
		return nil, s.fail("there is more text after the value")
	}
	return n, nil
}

func (s *scanner) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, s.fail("values are nested too deeply")
	}
	switch c := s.peek(); c {
	case '{':
		return s.list(depth, mapping, '}')
	case '[':
		return s.list(depth, sequence, ']')
	}
	start := s.at
	if s.peek() == '"' {
		text, err := s.str()
		return &node{kind: scalar, start: start, end: s.at, scalar: quote(text)}, err
	}
	end := strings.IndexAny(s.rest(), " \t\r\n,]}/:")
	if end < 0 {
		end = len(s.rest())
	}
	word := s.text[start : start+end]
	if !json.Valid([]byte(word)) {
		return nil, s.fail(fmt.Sprintf("%.40q is not a value", word))
	}
	s.at += end
	n := &node{kind: scalar, start: start, end: s.at, scalar: word}
	if c := word[0]; c == '-' || c >= '0' && c <= '9' {
		n.scalar = number(word)
	}
	return n, nil
}

// str reads a text in double quotes.
func (s *scanner) str() (string, error) {
	for i := s.at + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			var out string
			raw := s.text[s.at : i+1]
			if err := json.Unmarshal([]byte(raw), &out); err != nil || !utf8.ValidString(raw) {
				return "", s.fail("a text has an escape or a character that JSON does not allow")
			}
			s.at = i + 1
			return out, nil
		}
	}
	return "", s.fail("a text has no closing quote")
}

// list reads a mapping or a list.
func (s *scanner) list(depth int, kind byte, closing byte) (*node, error) {
	n := &node{kind: kind, start: s.at, open: s.at + 1, flow: true}
	s.at++
	for {
		s.blank()
		if s.peek() == closing && len(n.items) == 0 {
			break
		}
		it := item{start: s.at}
		if kind == mapping {
			if s.peek() != '"' {
				return nil, s.fail("a key in double quotes is missing here")
			}
			var err error
			if it.key, err = s.str(); err != nil {
				return nil, err
			}
			if s.blank(); s.peek() != ':' {
				return nil, s.fail("a colon is missing here")
			}
			s.at++
			s.blank()
		}
		v, err := s.value(depth + 1)
		if err != nil {
			return nil, err
		}
		it.value, it.end = v, v.end
		n.items = append(n.items, it)
		s.blank()
		if s.peek() == closing {
			break
		}
		if s.peek() != ',' {
			return nil, s.fail("a comma, or the end of the list or mapping, is missing here")
		}
		s.at++
	}
	s.at++
	n.end = s.at
	return n, nil
}

func (jsonSyntax) canonical(value string) (string, error) { return canonicalJSON(value) }

func (jsonSyntax) write(canonical string, _ *node) string { return spaced(fromJSON(canonical)) }

func (jsonSyntax) insert(text string, root *node, trail []hop, key []step.KeyPart, source string) (string, error) {
	m, rest := root, key[len(trail):]
	if len(trail) > 0 {
		m = trail[len(trail)-1].item().value
	}
	if m.start == len(text) { // there is nothing yet
		return text + "{" + "\n  " + member(rest, source, "\n  ") + "\n}\n", nil
	}
	nl := "\n" + indentOf(text, m.start)
	if n := len(m.items); n > 0 {
		last := m.items[n-1]
		sep := blanksBefore(text, last.start)
		if n == 1 && sep == "" && strings.HasSuffix(text[:last.value.start], " ") {
			sep = " "
		}
		return text[:last.end] + "," + sep + member(rest, source, sep) + text[last.end:], nil
	}
	inner := text[m.open : m.end-1]
	in := nl + unit(text, root)
	made := in + member(rest, source, in)
	if !strings.Contains(inner, "\n") {
		made += nl
	}
	return text[:m.open] + made + text[m.open:], nil
}

// member returns the text to insert for a value: its key, and missing mappings around it. sep is
// the text before it, without a line break in a text on one line.
func member(key []step.KeyPart, source, sep string) string {
	colon := ": "
	if sep == "" {
		colon = ":"
	}
	text := quote(key[0].Name) + colon
	if len(key) == 1 {
		return text + source
	}
	if !strings.Contains(sep, "\n") {
		return text + "{" + member(key[1:], source, sep) + "}"
	}
	return text + "{" + sep + "  " + member(key[1:], source, sep+"  ") + sep + "}"
}

// blanksBefore are the blanks that end before a place.
func blanksBefore(text string, at int) string {
	return text[len(strings.TrimRight(text[:at], " \t\r\n")):at]
}

// indentOf are the blanks that begin the line of a place.
func indentOf(text string, at int) string {
	line := text[1+strings.LastIndexByte(text[:at], '\n'):]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// unit is by how much the first item of the text is further in.
func unit(text string, root *node) string {
	if len(root.items) > 0 {
		if _, ind, ok := strings.Cut(blanksBefore(text, root.items[0].start), "\n"); ok && ind != "" &&
			!strings.Contains(ind, "\n") {
			return ind
		}
	}
	return "  "
}

func (jsonSyntax) cuts(text string, _ *node, at hop) []cut { return flowCuts(text, at) }

// flowCuts take an item out of brackets, with its comma.
func flowCuts(text string, at hop) []cut {
	m, it := at.in, at.item()
	switch n := len(m.items); {
	case n == 1:
		nl := "\n" + indentOf(text, m.start)
		ways := []cut{{m.open, it.end, ""}, {m.open, it.end + len(nl), ""}, {it.start, it.end, ""}}
		if strings.TrimSpace(text[m.open:it.start]) != "" { // a comment
			ways[0], ways[2] = ways[2], ways[0]
		}
		return ways
	case at.at == n-1:
		return []cut{{m.items[at.at-1].end, it.end, ""}}
	}
	return []cut{{it.start, m.items[at.at+1].start, ""}}
}

var errNotHere = errors.New("fettle cannot add a value for this key; write it by hand")
