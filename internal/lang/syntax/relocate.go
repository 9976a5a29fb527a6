package syntax

import (
	"reflect"
	"regexp"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/front"
)

// relocation moves the parsed parts of a text to the place of the text in its file. An escape or a
// folded line shifts all following bytes, so every range is looked up.
type relocation struct {
	node   *front.Node
	places []int // position of each byte; nil if only the position of the whole text is known
	seen   map[uintptr]bool
}

func newRelocation(n *front.Node) *relocation {
	r := &relocation{node: n, seen: map[uintptr]bool{}}
	if n.Places != nil {
		r.places = n.Places()
	}
	return r
}

// place returns the position in the file of a range of the text.
func (m *relocation) place(r hcl.Range) hcl.Range {
	if m.places == nil {
		return toHCL(m.node.Range())
	}
	last := len(m.places) - 1
	return toHCL(m.node.Src.Range(m.places[min(r.Start.Byte, last)], m.places[min(r.End.Byte, last)]))
}

// expression moves all ranges of an expression, once.
func (m *relocation) expression(e hclsyntax.Expression) { m.value(reflect.ValueOf(e)) }

// value finds the ranges in anything that the parser makes. Values, types and
// operators are shared and hold none.
func (m *relocation) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*hclsyntax.Operation]() || m.seen[v.Pointer()] {
			return
		}
		m.seen[v.Pointer()] = true
		m.value(v.Elem())
	case reflect.Interface:
		m.inInterface(v)
	case reflect.Slice:
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	case reflect.Struct:
		m.fields(v)
	}
}

func (m *relocation) inInterface(v reflect.Value) {
	if v.IsNil() {
		return
	}
	if v.Elem().Kind() != reflect.Struct {
		m.value(v.Elem())
		return
	}
	moved := reflect.New(v.Elem().Type()).Elem() // a traverser is held by value
	moved.Set(v.Elem())
	m.value(moved)
	if v.CanSet() {
		v.Set(moved)
	}
}

func (m *relocation) fields(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[cty.Value](), reflect.TypeFor[cty.Type]():
		return
	case reflect.TypeFor[hcl.Range]():
		v.Set(reflect.ValueOf(m.place(v.Interface().(hcl.Range))))
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			m.value(v.Field(i))
		}
	}
}

// diagnostics relocates the parser's diagnostics about the text, including places in their
// sentences.
func (m *relocation) diagnostics(ds hcl.Diagnostics) {
	inside := regexp.MustCompile(regexp.QuoteMeta(m.node.Src.Name) + `:(\d+),(\d+)-(\d+,)?\d+`)
	text := front.NewSource("", []byte(m.node.Text))
	for _, d := range ds {
		for _, r := range []*hcl.Range{d.Subject, d.Context} {
			if r != nil {
				*r = m.place(*r)
			}
		}
		d.Detail = inside.ReplaceAllStringFunc(d.Detail, func(s string) string {
			at := inside.FindStringSubmatch(s)
			line, _ := strconv.Atoi(at[1])
			column, _ := strconv.Atoi(at[2])
			i := text.Offset(line, column)
			return RangeOf(m.place(hcl.Range{Start: hcl.Pos{Byte: i}, End: hcl.Pos{Byte: i}})).String()
		})
	}
}
