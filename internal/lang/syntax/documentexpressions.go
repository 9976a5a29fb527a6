package syntax

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/front"
)

// meaning is the syntax of the texts in an attribute.
type meaning uint8

const (
	templates   meaning = iota
	expressions         // the text itself is an expression, texts inside it are templates
	references          // every text in it is a reference
)

// valueReader reads the values of a document.
type valueReader struct{ *Reports }

// expression reads a value of a document; nil after a diagnostic.
func (d *valueReader) expression(n *front.Node, as meaning) hclsyntax.Expression {
	r := toHCL(n.Range())
	literal := func(v cty.Value) hclsyntax.Expression { return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: r} }
	switch n.Kind {
	case front.Bool:
		return literal(cty.BoolVal(n.Text == "true"))
	case front.Number:
		v, err := cty.ParseNumberVal(n.Text)
		if err != nil {
			d.Errorf(n.Range(), "Bad number", "%s is not a valid number.", front.Quote(n.Text))
			return nil
		}
		return literal(v)
	case front.Text, front.Literal, front.Expr:
		return d.text(n, as)
	case front.List:
		return d.tuple(n, as, r)
	case front.Map:
		return d.object(n, as, r)
	}
	return literal(cty.NullVal(cty.DynamicPseudoType))
}

func (d *valueReader) tuple(n *front.Node, as meaning, r hcl.Range) hclsyntax.Expression {
	out := &hclsyntax.TupleConsExpr{SrcRange: r, OpenRange: r}
	for _, item := range n.Items {
		e := d.expression(item, within(as))
		if e == nil {
			return nil
		}
		out.Exprs = append(out.Exprs, e)
	}
	return out
}

func (d *valueReader) object(n *front.Node, as meaning, r hcl.Range) hclsyntax.Expression {
	out := &hclsyntax.ObjectConsExpr{SrcRange: r, OpenRange: r}
	for _, p := range n.Pairs {
		k, v := d.key(p.Key), d.expression(p.Value, within(as))
		if k == nil || v == nil {
			return nil
		}
		out.Items = append(out.Items, hclsyntax.ObjectConsItem{KeyExpr: k, ValueExpr: v})
	}
	return out
}

// within returns the syntax of texts inside a list or a mapping.
func within(as meaning) meaning {
	if as == expressions {
		return templates
	}
	return as
}

// key returns a name, or a template for one.
func (d *valueReader) key(n *front.Node) hclsyntax.Expression {
	if !hclsyntax.ValidIdentifier(n.Text) {
		if e := d.text(n, templates); e != nil {
			return &hclsyntax.ObjectConsKeyExpr{Wrapped: e}
		}
		return nil
	}
	r := toHCL(n.Range())
	return &hclsyntax.ObjectConsKeyExpr{Wrapped: &hclsyntax.ScopeTraversalExpr{
		Traversal: hcl.Traversal{hcl.TraverseRoot{Name: n.Text, SrcRange: r}}, SrcRange: r}}
}

// text parses a text in the syntax of its place.
func (d *valueReader) text(n *front.Node, as meaning) hclsyntax.Expression {
	asIs := n.Kind == front.Literal || n.Kind == front.Text && !strings.Contains(n.Text, "${") &&
		!strings.Contains(n.Text, "%{")
	switch {
	case n.Kind == front.Expr:
		return d.parse(n, ExpressionSyntax)
	case as == templates && asIs:
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(n.Text), SrcRange: toHCL(n.Range())}
	case as == templates:
		return d.parse(n, TemplateSyntax)
	case !strings.HasPrefix(n.Text, "${"):
		return d.parse(n, ExpressionSyntax)
	}
	e := d.parse(n, TemplateSyntax)
	if wrap, ok := e.(*hclsyntax.TemplateWrapExpr); ok {
		return wrap.Wrapped
	}
	return e
}

// parse parses a text in one of the parser's own syntaxes, and relocates the result to the place of
// the text.
func (d *valueReader) parse(n *front.Node, s Language) hclsyntax.Expression {
	src := []byte(n.Text)
	at := newRelocation(n)
	if ds := Guard(src, n.Src.Name, s); ds.HasErrors() {
		for _, x := range ds {
			x.Range, x.Line = RangeOf(at.place(toHCL(x.Range))), ""
			d.Add(x)
		}
		return nil
	}
	var e hclsyntax.Expression
	var hds hcl.Diagnostics
	if s == TemplateSyntax {
		e, hds = hclsyntax.ParseTemplate(src, n.Src.Name, hcl.InitialPos)
	} else {
		e, hds = hclsyntax.ParseExpression(src, n.Src.Name, hcl.InitialPos)
	}
	if hds.HasErrors() {
		at.diagnostics(hds)
		d.Add(FromHCL(hds)...)
		return nil
	}
	at.expression(e)
	CheckDivisions(e)
	return e
}
