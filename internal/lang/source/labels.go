package source

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

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
	case "expect", "output", "action":
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
