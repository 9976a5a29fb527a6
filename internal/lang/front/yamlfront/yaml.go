// Package yamlfront reads YAML for the language.
//
//	doc, err := yamlfront.Parse(front.NewSource("fettle.yaml", text))
//
// It accepts one document of mappings, lists, texts, decimal numbers, booleans and nulls. It
// refuses features with a hidden meaning: anchors and aliases, tags, duplicate keys, and numbers
// that YAML 1.1 and 1.2 read differently.
package yamlfront

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"fettle.dev/fettle/internal/lang/front"
)

// Marshal returns a value as YAML with sorted keys.
func Marshal(v any) ([]byte, error) { return yaml.Marshal(v) }

// Unmarshal reads YAML data into v. Data may have aliases, up to the library's
// own limits.
func Unmarshal(data []byte, v any) error {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || !distinctKeys(&doc) {
		return yaml.Unmarshal(data, v)
	}
	return doc.Load(v, yaml.WithV3Defaults(), yaml.WithUniqueKeys(false))
}

// distinctKeys reports whether the keys of each mapping are plain values and different as texts, and the document
// has no alias. The library compares each key with all others, which takes long for thousands of keys.
func distinctKeys(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.AliasNode:
		return false
	case yaml.MappingNode:
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || seen[k.Value] || k.Value == "<<" || k.Tag == "!!merge" {
				return false
			}
			seen[k.Value] = true
		}
	}
	for _, c := range n.Content {
		if !distinctKeys(c) {
			return false
		}
	}
	return true
}

// Parse reads a document. It returns nil for an empty text.
func Parse(src *front.Source) (*front.Node, *front.Error) {
	l, err := yaml.NewLoader(bytes.NewReader(src.Text))
	if err != nil {
		return nil, syntaxError(src, err)
	}
	var first, second yaml.Node
	if err := l.Load(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(src, err)
	}
	if err := l.Load(&second); err == nil {
		at := src.Offset(second.Line, second.Column)
		return nil, front.Errorf(src, at, at, "Several documents",
			"A file can contain only one YAML document. Move the other documents into other files.")
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(src, err)
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 {
		return nil, nil
	}
	p := parser{src}
	return p.node(first.Content[0], 0)
}

// syntaxError returns the library's error with its place.
func syntaxError(src *front.Source, err error) *front.Error {
	message, line, column := ConfigError(err)
	at := src.Offset(line, column)
	return front.Errorf(src, at, at+1, "Invalid YAML", "The text is not valid YAML: %s.", message)
}

// ConfigError returns the library's message about a text that is not YAML, without a period at its end,
// and its line and column, from 1.
func ConfigError(err error) (message string, line, column int) {
	message, line, column = err.Error(), 1, 1
	var le *yaml.LoadError
	if errors.As(err, &le) {
		message = le.Message
		if le.ContextMsg != "" {
			message += " " + le.ContextMsg
		}
		line, column = le.Mark.Line, le.Mark.Column
		// The opening quote or bracket is more helpful than the place where its end was expected. A
		// block has no end: its first line with a wrong indentation is the error.
		block := strings.Contains(le.ContextMsg, "parsing a block")
		if open := le.ContextMark; open.Line > 0 && (line > open.Line && !block || line == 0) {
			line, column = open.Line, open.Column
		}
	}
	return strings.TrimRight(strings.TrimPrefix(message, "yaml: "), "."), max(line, 1), max(column, 1)
}

type parser struct{ src *front.Source }

func (p parser) node(y *yaml.Node, depth int) (*front.Node, *front.Error) {
	n := &front.Node{Src: p.src, Start: p.src.Offset(y.Line, y.Column)}
	n.End = n.Start
	switch {
	case depth > front.MaxDepth:
		return nil, p.errorf(n, "Too deeply nested", "Lists and mappings can be nested at most %d levels deep.",
			front.MaxDepth)
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		return nil, p.errorf(n, "Anchor or alias",
			"Anchors and aliases are not supported. For a value that you need twice, use locals.")
	case y.Style&yaml.TaggedStyle != 0:
		return nil, p.errorf(n, "Tag",
			"YAML tags are not supported. Remove %s; to get a string, write the value in quotes.", front.Quote(y.Tag))
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = front.Map
		return n, p.pairs(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = front.List
		for _, c := range y.Content {
			item, err := p.node(c, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
		return n, nil
	}
	return n, p.scalar(n, y)
}

func (p parser) errorf(n *front.Node, summary, detail string, args ...any) *front.Error {
	return front.Errorf(p.src, n.Start, n.Start+1, summary, detail, args...)
}

func (p parser) pairs(n *front.Node, y *yaml.Node, depth int) *front.Error {
	keys := map[string]*front.Node{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, err := p.key(y.Content[i], depth)
		if err != nil {
			return err
		}
		if err := front.Unique(keys, k); err != nil {
			return err
		}
		v, err := p.node(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		n.Pairs = append(n.Pairs, front.Pair{Key: k, Value: v})
	}
	return nil
}

// key reads a key, which is always a text. A key that resembles a number is the text as written.
func (p parser) key(y *yaml.Node, depth int) (*front.Node, *front.Error) {
	at := p.src.Offset(y.Line, y.Column)
	if y.Kind == yaml.ScalarNode && y.Tag == "!!merge" {
		return nil, front.Errorf(p.src, at, at+2, "Merge key",
			"Merge keys are not supported. Use locals and merge(…) instead.")
	}
	k, err := p.node(y, depth+1)
	switch {
	case y.Kind != yaml.ScalarNode:
		if err == nil || err.Summary == "Too deeply nested" {
			err = front.Errorf(p.src, at, at+1, "Key is not a string",
				"A key must be a string, and this is a list or a mapping. If the string begins with a bracket, write it in quotes.")
		}
		return nil, err
	case err != nil && err.Summary == ambiguous:
		k, err = &front.Node{Src: p.src, Start: at, End: at + len(y.Value)}, nil
	case err != nil:
		return nil, err
	}
	k.Kind, k.Text = front.Text, y.Value
	k.Places = func() []int { return places(p.src.Text, at, y.Style, k.Text) }
	k.End = k.Start + len(k.Text)
	return k, nil
}

const ambiguous = "Ambiguous number"

// decimal matches the numbers of JSON.
var decimal = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`) })

func (p parser) scalar(n *front.Node, y *yaml.Node) *front.Error {
	n.Kind, n.Text = front.Text, y.Value
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		n.End = n.Start + len(y.Value)
		switch y.Tag {
		case "!!null":
			n.Kind, n.Text = front.Null, ""
		case "!!bool":
			n.Kind, n.Text = front.Bool, strings.ToLower(y.Value)
		case "!!int", "!!float":
			if !decimal().MatchString(y.Value) {
				return p.errorf(n, ambiguous,
					"YAML parsers disagree about the value of %s. If it is a string, such as a mode, write it in quotes. "+
						"Otherwise write a plain decimal number.", front.Quote(y.Value))
			}
			n.Kind = front.Number
		}
	}
	if n.Kind == front.Text {
		n.Places = func() []int { return places(p.src.Text, n.Start, y.Style, n.Text) }
	}
	return nil
}
