// Package jsonfront reads JSON for the language, strictly by RFC 8259.
//
//	doc, err := jsonfront.Parse(front.NewSource("fettle.json", text))
//
// Comments, trailing commas, duplicate keys and halves of surrogate pairs are refused, each at its
// place.
package jsonfront

import (
	"strings"

	"fettle.dev/fettle/internal/lang/front"
)

// Parse reads a document. An empty text is an error.
func Parse(src *front.Source) (*front.Node, *front.Error) {
	p := &parser{src: src, text: src.Text}
	p.blanks()
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.blanks(); p.i < len(p.text) {
		return nil, p.errorf(p.i, "There is text after the end of the document. A file must contain exactly one value.")
	}
	return n, nil
}

type parser struct {
	src  *front.Source
	text []byte
	i    int
}

func (p *parser) errorf(at int, detail string, args ...any) *front.Error {
	return front.Errorf(p.src, at, at+1, "Invalid JSON", detail, args...)
}

func (p *parser) blanks() {
	for p.i < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.i]) >= 0 {
		p.i++
	}
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.text) {
		return p.text[p.i]
	}
	return 0
}

func (p *parser) value(depth int) (*front.Node, *front.Error) {
	if depth > front.MaxDepth {
		return nil, front.Errorf(p.src, p.i, p.i+1, "Too deeply nested",
			"Lists and mappings can be nested at most %d levels deep.", front.MaxDepth)
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.string()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.word()
}

func (p *parser) word() (*front.Node, *front.Error) {
	start := p.i
	for p.i < len(p.text) && (p.text[p.i] >= 'a' && p.text[p.i] <= 'z' || p.text[p.i] >= 'A' && p.text[p.i] <= 'Z') {
		p.i++
	}
	n := &front.Node{Src: p.src, Start: start, End: p.i, Text: string(p.text[start:p.i])}
	switch n.Text {
	case "null":
		n.Text = ""
	case "true", "false":
		n.Kind = front.Bool
	case "":
		if start == len(p.text) {
			return nil, p.errorf(start, "The file ends where a value is expected.")
		}
		return nil, p.errorf(start,
			"A value is expected here: an object, a list, a string in double quotes, a number, true, false or null.")
	default:
		return nil, p.errorf(start, "%s is not a value. Write strings in double quotes.", front.Quote(n.Text))
	}
	return n, nil
}

func (p *parser) array(depth int) (*front.Node, *front.Error) {
	n := &front.Node{Kind: front.List, Src: p.src, Start: p.i}
	err := p.elements(']', func() *front.Error {
		item, err := p.value(depth + 1)
		n.Items = append(n.Items, item)
		return err
	})
	n.End = p.i
	return n, err
}

func (p *parser) object(depth int) (*front.Node, *front.Error) {
	n := &front.Node{Kind: front.Map, Src: p.src, Start: p.i}
	keys := map[string]*front.Node{}
	err := p.elements('}', func() *front.Error {
		if p.peek() != '"' {
			return p.errorf(p.i, "A key in double quotes is expected here.")
		}
		key, err := p.string()
		if err != nil {
			return err
		}
		if err := front.Unique(keys, key); err != nil {
			return err
		}
		if p.blanks(); p.peek() != ':' {
			return p.errorf(p.i, "A colon is expected after the key %s.", front.Quote(key.Text))
		}
		p.i++
		p.blanks()
		v, err := p.value(depth + 1)
		n.Pairs = append(n.Pairs, front.Pair{Key: key, Value: v})
		return err
	})
	n.End = p.i
	return n, err
}

// elements reads the elements between brackets, separated by commas.
func (p *parser) elements(end byte, one func() *front.Error) *front.Error {
	open := p.i
	p.i++
	if p.blanks(); p.peek() == end {
		p.i++
		return nil
	}
	for {
		if err := one(); err != nil {
			return err
		}
		p.blanks()
		switch {
		case p.peek() == ',':
			p.i++
			p.blanks()
		case p.peek() == end:
			p.i++
			return nil
		case p.i == len(p.text):
			return p.errorf(open, "This bracket has no closing bracket.")
		default:
			return p.errorf(p.i, "A comma or %c is expected here.", end)
		}
	}
}

// number reads a number. The caller checks the text after it.
func (p *parser) number() (*front.Node, *front.Error) {
	start := p.i
	p.eat('-')
	switch {
	case p.eat('0'):
	case p.digits() == 0:
		return nil, p.errorf(p.i, "A digit is expected here.")
	}
	if p.eat('.') && p.digits() == 0 {
		return nil, p.errorf(p.i, "A digit is expected after the point.")
	}
	if p.eat('e') || p.eat('E') {
		_ = p.eat('+') || p.eat('-')
		if p.digits() == 0 {
			return nil, p.errorf(p.i, "A digit is expected in the exponent.")
		}
	}
	if c := p.peek(); c >= '0' && c <= '9' {
		return nil, p.errorf(start, `A number cannot begin with 0. Write a mode as a string: "0644".`)
	}
	return &front.Node{Kind: front.Number, Src: p.src, Start: start, End: p.i, Text: string(p.text[start:p.i])}, nil
}

func (p *parser) eat(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.i++
	return true
}

func (p *parser) digits() int {
	start := p.i
	for p.i < len(p.text) && p.text[p.i] >= '0' && p.text[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}
