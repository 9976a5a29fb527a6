package starfront

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"fettle.dev/fettle/internal/lang/front"
)

// expression is a value that only the language evaluates: expr("var.domain"), or the result of a
// declaration. Its attributes refer to attributes of the named object.
type expression struct {
	text string
	kind front.Kind    // Expr, or Text for template("…")
	src  *front.Source // nil if it was not written as a text
	at   int
}

func (e expression) String() string        { return "expr(" + strconv.Quote(e.text) + ")" }
func (e expression) Type() string          { return "expr" }
func (e expression) Freeze()               {}
func (e expression) Truth() starlark.Bool  { return starlark.True }
func (e expression) Hash() (uint32, error) { return starlark.String(e.text).Hash() }
func (e expression) AttrNames() []string   { return nil }

// Attr implements the dot: nginx.reload. Every name exists, because names are resolved later.
func (e expression) Attr(name string) (starlark.Value, error) {
	if e.kind != front.Expr {
		return nil, nil
	}
	return expression{text: e.text + "." + name, kind: front.Expr}, nil
}

// expr implements expr("TEXT"), an expression of the language, and template("TEXT"), a string with
// ${…} in it.
func (r *run) expr(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	out := expression{kind: front.Expr}
	if b.Name() == "template" {
		out.kind = front.Text
	}
	if len(args) != 1 || len(kwargs) > 0 {
		return nil, fmt.Errorf("%s takes one string", b.Name())
	}
	text, ok := starlark.AsString(args[0])
	if !ok || !utf8.ValidString(text) {
		return nil, fmt.Errorf("%s takes a string with an expression", b.Name())
	}
	out.text = text
	if at := r.caller().argument(0); at.expr != nil {
		if begin := at.start + 1; strings.HasPrefix(string(at.src.Text[min(begin, len(at.src.Text)):]), text) {
			out.src, out.at = at.src, begin // a literal string without escapes
		}
	}
	return out, nil
}

// place is the position of a value, as far as it is known.
type place struct {
	src        *front.Source
	start, end int
	expr       syntax.Expr
}

func placeOf(src *front.Source, e syntax.Expr) place {
	p := place{src: src, expr: e}
	p.start, p.end = span(src, e)
	return p
}

// argument returns the position of the n-th argument.
func (c call) argument(n int) place {
	if c.expr != nil && n < len(c.expr.Args) {
		if b, ok := c.expr.Args[n].(*syntax.BinaryExpr); !ok || b.Op != syntax.EQ {
			return placeOf(c.src, c.expr.Args[n])
		}
	}
	return place{src: c.src, start: c.start, end: c.end}
}

// keyword returns the name of a keyword argument as a node, and the position of its value.
func (c call) keyword(name string) (*front.Node, place) {
	if c.expr != nil {
		for _, a := range c.expr.Args {
			b, ok := a.(*syntax.BinaryExpr)
			if !ok || b.Op != syntax.EQ {
				continue
			}
			if id, ok := b.X.(*syntax.Ident); ok && id.Name == name {
				key := &front.Node{Kind: front.Literal, Text: name, Src: c.src}
				key.Start, key.End = span(c.src, id)
				return key, placeOf(c.src, b.Y)
			}
		}
	}
	return c.node(front.Literal, name), place{src: c.src, start: c.start, end: c.end}
}

// inside returns the place of an element of a list if it is literal, otherwise the place of the
// list.
func (p place) inside(n, of int) place {
	if l, ok := p.expr.(*syntax.ListExpr); ok && len(l.List) == of {
		return placeOf(p.src, l.List[n])
	}
	return place{src: p.src, start: p.start, end: p.end}
}

// entry returns the places of an entry of a mapping if it is literal, otherwise the place of the
// mapping.
func (p place) entry(n, of int) (key, value place) {
	whole := place{src: p.src, start: p.start, end: p.end}
	if d, ok := p.expr.(*syntax.DictExpr); ok && len(d.List) == of {
		if e, ok := d.List[n].(*syntax.DictEntry); ok {
			return placeOf(p.src, e.Key), placeOf(p.src, e.Value)
		}
	}
	return whole, whole
}

func (p place) node(kind front.Kind, text string) *front.Node {
	return &front.Node{Kind: kind, Text: text, Src: p.src, Start: p.start, End: p.end}
}

// node converts a Starlark value to a node. Strings are constant; expressions are parsed by the
// language.
func (r *run) node(v starlark.Value, p place, depth int) (*front.Node, error) {
	if depth > front.MaxDepth {
		return nil, fmt.Errorf("lists and mappings can be nested at most %d levels deep", front.MaxDepth)
	}
	if r.values++; r.values > maxValues {
		return nil, fmt.Errorf("the program declares more than %d values", maxValues)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return p.node(front.Null, ""), nil
	case starlark.Bool:
		return p.node(front.Bool, strconv.FormatBool(bool(v))), nil
	case starlark.Int:
		return p.node(front.Number, v.String()), nil
	case starlark.Float:
		text := strconv.FormatFloat(float64(v), 'g', -1, 64)
		if strings.Trim(text, "0123456789.e+-") != "" {
			return nil, fmt.Errorf("%s is not a finite number", text)
		}
		return p.node(front.Number, text), nil
	case starlark.String:
		if !utf8.ValidString(string(v)) {
			return nil, errors.New("the string is not UTF-8")
		}
		return p.node(front.Literal, string(v)), nil
	case expression:
		n := p.node(v.kind, v.text)
		if v.src != nil {
			n.Src, n.Start, n.End = v.src, v.at, v.at+len(v.text)
			n.Places = func() []int { return upwards(v.at, len(v.text)) }
		}
		return n, nil
	case *starlark.Dict:
		return r.mapping(v, p, depth)
	case starlark.Sequence:
		return r.list(v, p, depth)
	}
	return nil, fmt.Errorf("a %s cannot be used as a configuration value", v.Type())
}

// upwards returns consecutive positions, for a literal string without escapes.
func upwards(from, n int) []int {
	out := make([]int, n+1)
	for i := range out {
		out[i] = from + i
	}
	return out
}

func (r *run) list(v starlark.Sequence, p place, depth int) (*front.Node, error) {
	out := p.node(front.List, "")
	it := v.Iterate()
	defer it.Done()
	var e starlark.Value
	for i := 0; it.Next(&e); i++ {
		n, err := r.node(e, p.inside(i, v.Len()), depth+1)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, n)
	}
	return out, nil
}

func (r *run) mapping(v *starlark.Dict, p place, depth int) (*front.Node, error) {
	out := p.node(front.Map, "")
	for i, kv := range v.Items() {
		name, ok := starlark.AsString(kv[0])
		if !ok || !utf8.ValidString(name) {
			return nil, fmt.Errorf("a key must be a string, and %s is a %s", kv[0], kv[0].Type())
		}
		at, value := p.entry(i, v.Len())
		n, err := r.node(kv[1], value, depth+1)
		if err != nil {
			return nil, err
		}
		out.Pairs = append(out.Pairs, front.Pair{Key: at.node(front.Literal, name), Value: n})
	}
	return out, nil
}
