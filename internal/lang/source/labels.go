package source

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// label returns the only label of a block; ok is false after a diagnostic.
func (ps *parser) label(b *hclsyntax.Block) (string, diag.Range, bool) {
	if b.Type == "resource" && len(b.Labels) == 2 {
		ps.Errorf(syntax.RangeOf(b.DefRange()), "Unknown kind", "A state begins with its kind. Write %s %q { … }.",
			b.Labels[0], b.Labels[1])
		return "", diag.Range{}, false
	}
	if len(b.Labels) != 1 {
		ps.Errorf(syntax.RangeOf(b.DefRange()), "Block needs one label", "Write %s \"NAME\" { … }.", b.Type)
		return "", diag.Range{}, false
	}
	r := syntax.RangeOf(b.LabelRanges[0])
	if l := b.Labels[0]; l == "" || strings.ContainsAny(l, "\x00\n\r") {
		ps.Errorf(r, "Bad label", "A label must be one line of text, and not empty.")
		return "", r, false
	}
	return b.Labels[0], r, true
}

// text reads a constant string, in places that are read before any value is known.
func (ps *parser) text(e hclsyntax.Expression, what string) string {
	v, hds := e.Value(nil)
	if hds.HasErrors() || v.IsNull() || v.Type() != cty.String || !v.IsKnown() {
		ps.Errorf(syntax.RangeOf(e.Range()), "String expected", "%s must be a constant string in quotes.", what)
		return ""
	}
	return v.AsString()
}

// only reports attributes and blocks that are not in the lists.
func (ps *parser) only(b *hclsyntax.Block, attrs, blocks []string) {
	for _, a := range syntax.AttributeOrder(b.Body.Attributes) {
		if !slices.Contains(attrs, a.Name) {
			ps.Errorf(syntax.RangeOf(a.NameRange), "Unknown attribute", "%s has no attribute %q.%s", oneOf(b.Type), a.Name,
				syntax.Suggest(a.Name, attrs))
		}
	}
	for _, sub := range b.Body.Blocks {
		if !slices.Contains(blocks, sub.Type) {
			ps.Errorf(syntax.RangeOf(sub.TypeRange), "Unknown block", "%s has no block %q.%s", oneOf(b.Type), sub.Type,
				syntax.Suggest(sub.Type, blocks))
		}
	}
}

// typeOf reads a type such as string or list(string); any when e is nil.
func (ps *parser) typeOf(a *hclsyntax.Attribute) (cty.Type, *typeexpr.Defaults) {
	if a == nil {
		return cty.DynamicPseudoType, nil
	}
	t, d, hds := typeexpr.TypeConstraintWithDefaults(a.Expr)
	ps.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return cty.DynamicPseudoType, nil
	}
	return t, d
}

// oneOf returns the name of a block with its article, for the beginning of a sentence.
func oneOf(block string) string {
	switch block {
	case "expect", "output", "action", "environment":
		return "An " + block
	case "enrolled":
		return "An enrolled target"
	case "needs":
		return "A needs block"
	case "exported":
		return "An exported block"
	case "ssh":
		return "An ssh block"
	}
	return "A " + block
}

// textOf returns a constant string attribute, "" if it is omitted.
func (ps *parser) textOf(at map[string]*hclsyntax.Attribute, name string) string {
	if a := at[name]; a != nil {
		return ps.text(a.Expr, name)
	}
	return ""
}

// boolOf returns a constant boolean attribute.
func (ps *parser) boolOf(at map[string]*hclsyntax.Attribute, name string, absent bool) bool {
	a := at[name]
	if a == nil {
		return absent
	}
	v, hds := a.Expr.Value(nil)
	if hds.HasErrors() || v.IsNull() || v.Type() != cty.Bool {
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "True or false expected", "Write %s = true or %s = false.", name, name)
		return absent
	}
	return v.True()
}

// spread reads an object with the attributes label and max.
func (ps *parser) spread(a *hclsyntax.Attribute) (out Spread) {
	if a == nil {
		return out
	}
	v, hds := a.Expr.Value(ps.prog.Pure)
	ps.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return out
	}
	object := v.IsWhollyKnown() && !v.IsNull() && v.Type().IsObjectType() && len(v.Type().AttributeTypes()) == 2 &&
		v.Type().HasAttribute("label") && v.Type().HasAttribute("max")
	if object {
		label, max := v.GetAttr("label"), v.GetAttr("max")
		if n, ok := wholeNumber(max); ok && !label.IsNull() && label.Type() == cty.String && label.AsString() != "" {
			return Spread{Label: label.AsString(), Max: n}
		}
	}
	ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type",
		`spread must be an object with a label and a whole number of at least 1: spread = { label = "rack", max = 1 }.`)
	return out
}

// whole returns a whole number of at least 1.
func (ps *parser) whole(a *hclsyntax.Attribute) int {
	v, hds := a.Expr.Value(ps.prog.Pure)
	ps.Add(syntax.FromHCL(hds)...)
	n, ok := wholeNumber(v)
	if !ok && !hds.HasErrors() {
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "%s must be a whole number of at least 1.", a.Name)
	}
	return n
}

func wholeNumber(v cty.Value) (n int, ok bool) {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.Number {
		return 0, false
	}
	err := gocty.FromCtyValue(v, &n)
	return n, err == nil && n > 0
}
