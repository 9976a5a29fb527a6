package document

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// yamlSyntax is YAML, one document. The library returns where values begin; their ends are read
// from the text.
type yamlSyntax struct{}

// yamlReader turns the library's nodes into ours.
type yamlReader struct {
	text  string
	lines []int // where each line begins
}

func (yamlSyntax) parse(text string) (*node, error) {
	if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", ""), "\r\u0085\u2028\u2029\ufeff") {
		return nil, errors.New("it has line breaks or characters that editors do not show")
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 || err == nil && nothing(doc.Content[0]) {
		return &node{kind: mapping, start: len(text), end: len(text), open: len(text)}, nil
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one document")
	}
	r := &yamlReader{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	return r.node(doc.Content[0], 0)
}

// nothing reports whether a node is a null without text, for example only comments.
func nothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == "" && n.Anchor == ""
}

// offset is where a node begins; the library counts characters.
func (r *yamlReader) offset(n *yaml.Node) (int, error) {
	if n.Line < 1 || n.Line > len(r.lines) {
		return 0, errors.New("a value has no position")
	}
	at := r.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(r.text) {
			break
		}
		for at++; at < len(r.text) && r.text[at]&0xc0 == 0x80; at++ {
		}
	}
	return at, nil
}

func (r *yamlReader) node(y *yaml.Node, depth int) (*node, error) {
	start, err := r.offset(y)
	if err != nil || depth > maxDepth {
		return nil, errors.Join(err, errors.New("values are nested too deeply"))
	}
	n := &node{start: start, end: start, open: start}
	switch y.Kind {
	case yaml.ScalarNode:
		n.kind, n.scalar = scalar, yamlScalar(y)
		n.empty = nothing(y)
		n.end, err = r.scalarEnd(y, r.properties(start))
		return n, err
	case yaml.AliasNode:
		n.kind, n.scalar, n.end = scalar, quote("*"+y.Value), start+1+len(y.Value)
		return n, nil
	case yaml.SequenceNode:
		return n, r.sequence(y, n, depth)
	case yaml.MappingNode:
		return n, r.mapping(y, n, depth)
	}
	return nil, errors.New("it has a value of an unknown kind")
}

// yamlScalar is a scalar in canonical form; one of a type that JSON has not keeps
// the type's name.
func yamlScalar(y *yaml.Node) string {
	switch tag := y.ShortTag(); tag {
	case "!!str":
		return quote(y.Value)
	case "!!null":
		return "null"
	case "!!bool":
		var b bool
		if y.Decode(&b) == nil {
			return strconv.FormatBool(b)
		}
		return quote(y.Value)
	case "!!int":
		if i, err := strconv.ParseInt(strings.ReplaceAll(y.Value, "_", ""), 0, 64); err == nil &&
			!legacyOctal().MatchString(y.Value) {
			return strconv.FormatInt(i, 10)
		}
		var i int64
		if y.Decode(&i) == nil {
			return strconv.FormatInt(i, 10)
		}
		return number(y.Value)
	case "!!float":
		var f float64
		if y.Decode(&f) == nil {
			return number(strconv.FormatFloat(f, 'g', -1, 64))
		}
		return quote(y.Value)
	default:
		return quote(tag + " " + y.Value)
	}
}

var legacyOctal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?0[0-9_]+$`) })

// properties passes an anchor and a tag.
func (r *yamlReader) properties(at int) int {
	for at < len(r.text) && (r.text[at] == '&' || r.text[at] == '!') {
		for at < len(r.text) && !strings.ContainsRune(" \t\r\n,]}", rune(r.text[at])) {
			at++
		}
		for at < len(r.text) && (r.text[at] == ' ' || r.text[at] == '\t') {
			at++
		}
	}
	return at
}

// scalarEnd is where a scalar ends that begins at a place.
func (r *yamlReader) scalarEnd(y *yaml.Node, at int) (int, error) {
	switch {
	case nothing(y):
		return at, nil
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		if strings.TrimSpace(y.Value) == "" {
			return lineEnd(r.text, at), nil
		}
		return r.blockEnd(at), nil
	case y.Style&yaml.DoubleQuotedStyle != 0:
		return r.quotedEnd(at, '"')
	case y.Style&yaml.SingleQuotedStyle != 0:
		return r.quotedEnd(at, '\'')
	}
	return r.plainEnd(y.Value, at)
}

func (r *yamlReader) quotedEnd(at int, q byte) (int, error) {
	for i := at + 1; i < len(r.text); i++ {
		switch {
		case q == '"' && r.text[i] == '\\':
			i++
		case r.text[i] == q && q == '\'' && i+1 < len(r.text) && r.text[i+1] == q:
			i++
		case r.text[i] == q:
			return i + 1, nil
		}
	}
	return 0, errors.New("a text has no closing quote")
}

// plainEnd matches a plain value with the text: a line break in it is a blank.
func (r *yamlReader) plainEnd(value string, at int) (int, error) {
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	i := at
	for j := 0; j < len(value); {
		switch {
		case i < len(r.text) && r.text[i] == value[j] && value[j] != '\n':
			i++
			j++
		case i < len(r.text) && blank(value[j]) && blank(r.text[i]):
			for j < len(value) && blank(value[j]) {
				j++
			}
			for i < len(r.text) && blank(r.text[i]) {
				i++
			}
		default:
			return 0, errors.New("a plain value is not at its position")
		}
	}
	return i, nil
}

// blockEnd is the end of a | or > text: its last line that is further in.
func (r *yamlReader) blockEnd(at int) int {
	end, inside := len(r.text), -1
	if i := strings.IndexByte(r.text[at:], '\n'); i >= 0 {
		end = at + i
	}
	last := end
	for end < len(r.text) {
		begin := end + 1
		if end = strings.IndexByte(r.text[begin:], '\n') + begin; end < begin {
			end = len(r.text)
		}
		line := r.text[begin:end]
		in := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case inside < 0:
			inside = in
		}
		if in < inside {
			break
		}
		last = begin + len(strings.TrimRight(line, "\r"))
	}
	return last
}

func (r *yamlReader) sequence(y *yaml.Node, n *node, depth int) error {
	n.kind, n.flow = sequence, y.Style&yaml.FlowStyle != 0
	n.open = r.properties(n.start)
	n.end = n.open
	if n.flow {
		n.open++
		n.end = n.open
	}
	for _, c := range y.Content {
		v, err := r.node(c, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item{start: v.start, end: v.end, value: v})
		n.end = max(n.end, v.end)
	}
	return r.closing(n, ']')
}

// closing finds the end of a value in brackets.
func (r *yamlReader) closing(n *node, bracket byte) error {
	if !n.flow {
		return nil
	}
	for i := n.end; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == bracket:
			n.end = i + 1
			return nil
		case c == '#':
			for i < len(r.text) && r.text[i] != '\n' {
				i++
			}
		case !strings.ContainsRune(" \t\r\n,:", rune(c)):
			return errors.New("a list or mapping has no closing bracket")
		}
	}
	return errors.New("a list or mapping has no closing bracket")
}

func (r *yamlReader) mapping(y *yaml.Node, n *node, depth int) error {
	n.kind, n.flow = mapping, y.Style&yaml.FlowStyle != 0
	n.open = r.properties(n.start)
	n.end = n.open
	if n.flow {
		n.open++
		n.end = n.open
	}
	for i := 0; i+1 < len(y.Content); i += 2 {
		it, err := r.item(y.Content[i], y.Content[i+1], depth)
		if err != nil {
			return err
		}
		if i == 0 {
			n.indent = it.start - r.lines[y.Content[0].Line-1]
		}
		n.items = append(n.items, it)
		n.end = max(n.end, it.end)
	}
	if !n.flow && len(n.items) > 0 {
		n.open = n.items[0].start
	}
	return r.closing(n, '}')
}

// item reads a key and its value. The value's bytes begin after the colon, unless a comment is
// between the two.
func (r *yamlReader) item(k, v *yaml.Node, depth int) (item, error) {
	if k.Kind != yaml.ScalarNode {
		return item{}, fmt.Errorf("line %d: a key is not plain text", k.Line)
	}
	start, err := r.offset(k)
	if err != nil {
		return item{}, err
	}
	colon, err := r.scalarEnd(k, r.properties(start))
	if err != nil {
		return item{}, err
	}
	for colon < len(r.text) && (r.text[colon] == ' ' || r.text[colon] == '\t') {
		colon++
	}
	if colon >= len(r.text) || r.text[colon] != ':' {
		return item{}, fmt.Errorf("line %d: there is no colon after the key", k.Line)
	}
	n, err := r.node(v, depth+1)
	if err != nil {
		return item{}, err
	}
	switch {
	case n.empty && v.Anchor == "" && v.Style&yaml.TaggedStyle == 0:
		n.start, n.end, n.lead = colon+1, colon+1, true
	case n.start > colon && strings.TrimSpace(r.text[colon+1:n.start]) == "":
		n.start, n.lead = colon+1, true
	}
	n.behind = colon + 1
	return item{key: k.Value, start: start, end: max(n.end, colon+1), value: n}, nil
}
