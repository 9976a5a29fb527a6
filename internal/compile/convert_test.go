package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// entry is a name with a value of a document: a body, []entry; a text of the
// language, string; a plain text, plain; an expression, source; a list, []any;
// a number or boolean, raw.
type entry struct {
	name  string
	label *string
	value any
}

type (
	plain    string
	unquoted string
	raw      string
)

// converter reads HCL and gives the same as a document.
type converter struct {
	t   *testing.T
	src []byte
}

func convertFile(t *testing.T, name, text string) []entry {
	f, ds := hclsyntax.ParseConfig([]byte(text), name, hcl.InitialPos)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	c := converter{t, []byte(text)}
	return c.body("", f.Body.(*hclsyntax.Body))
}

// body keeps the order of the text: attributes, then blocks.
func (c converter) body(block string, b *hclsyntax.Body) []entry {
	var out []entry
	var attrs []*hclsyntax.Attribute
	for _, a := range b.Attributes {
		attrs = append(attrs, a)
	}
	slices.SortFunc(attrs, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	for _, a := range attrs {
		out = append(out, entry{name: a.Name, value: c.attribute(block, a)})
	}
	for _, sub := range b.Blocks {
		e := entry{name: sub.Type, value: c.body(sub.Type, sub.Body)}
		if len(sub.Labels) == 1 {
			e.label = &sub.Labels[0]
		}
		out = append(out, e)
	}
	return out
}

func (c converter) attribute(block string, a *hclsyntax.Attribute) any {
	meta := []string{"after", "before", "notify", "listen", "notify_failure", "listen_failure"}
	switch {
	case slices.Contains([]string{"variable", "fact"}, block) && a.Name == "type", block == "validation" &&
		a.Name == "condition":
		return unquoted(c.text(a.Expr))
	case slices.Contains([]string{"", "locals", "variable", "fact", "target", "role", "target_group", "module", "policy",
		"ssh", "validation", "define"}, block):
		return c.value(a.Expr)
	case a.Name == "when" || a.Name == "for_each":
		return unquoted(c.text(a.Expr))
	case slices.Contains(meta, a.Name):
		return c.references(a.Expr)
	}
	return c.value(a.Expr)
}

func (c converter) text(e hclsyntax.Expression) string { return string(e.Range().SliceBytes(c.src)) }

func (c converter) references(e hclsyntax.Expression) any {
	switch x := e.(type) {
	case *hclsyntax.TupleConsExpr:
		out := []any{}
		for _, item := range x.Exprs {
			out = append(out, c.references(item))
		}
		return out
	case *hclsyntax.ObjectConsExpr:
		var out []entry
		for _, it := range x.Items {
			out = append(out, entry{name: hcl.ExprAsKeyword(it.KeyExpr), value: c.references(it.ValueExpr)})
		}
		return out
	}
	return unquoted(c.text(e))
}

func (c converter) value(e hclsyntax.Expression) any {
	switch x := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return raw(c.text(e))
	case *hclsyntax.TupleConsExpr:
		out := []any{}
		for _, item := range x.Exprs {
			out = append(out, c.value(item))
		}
		return out
	case *hclsyntax.ObjectConsExpr:
		if out, ok := c.object(x); ok {
			return out
		}
	case *hclsyntax.TemplateExpr:
		if s, ok := c.template(x); ok {
			return s
		}
		if text := c.text(e); strings.HasPrefix(text, "<<") && !strings.HasPrefix(text, "<<-") {
			begin, end := strings.Index(text, "\n")+1, strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1
			return text[begin:end]
		}
	}
	return "${" + c.text(e) + "}"
}

func (c converter) object(x *hclsyntax.ObjectConsExpr) ([]entry, bool) {
	out := []entry{}
	for _, it := range x.Items {
		k, ds := it.KeyExpr.Value(nil)
		if ds.HasErrors() || k.Type() != cty.String {
			return nil, false
		}
		if slices.ContainsFunc(out, func(e entry) bool { return e.name == k.AsString() }) {
			return nil, false
		}
		out = append(out, entry{name: k.AsString(), value: c.value(it.ValueExpr)})
	}
	return out, true
}

// template returns a text with the source of the expressions between ${ and }. It returns false for
// directives.
func (c converter) template(x *hclsyntax.TemplateExpr) (any, bool) {
	var b strings.Builder
	literal := true
	for _, p := range x.Parts {
		if l, ok := p.(*hclsyntax.LiteralValueExpr); ok && l.Val.Type() == cty.String {
			b.WriteString(strings.NewReplacer("${", "$${", "%{", "%%{").Replace(l.Val.AsString()))
			continue
		}
		if strings.HasPrefix(c.text(p), "%{") {
			return nil, false
		}
		literal = false
		b.WriteString("${" + c.text(p) + "}")
	}
	if literal {
		return plain(strings.NewReplacer("$${", "${", "%%{", "%{").Replace(b.String())), true
	}
	if len(x.Parts) == 1 {
		return `${"` + b.String() + `"}`, true
	}
	return b.String(), true
}
