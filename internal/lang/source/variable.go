package source

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/lang/syntax"
)

// CheckFact reports a name that no target can have as a fact. A dotted name leads
// into a map: "addresses.eth0" is an entry of the fact "addresses".
func CheckFact(r *syntax.Reports, name string, at diag.Range) {
	head, _, _ := strings.Cut(name, ".")
	if known := schema.Facts(); !slices.Contains(known, head) {
		r.Errorf(at, "Unknown fact", "No target has a fact %q.%s To list all facts, run: fettle facts", name,
			syntax.Suggest(name, known))
	}
}

// A defined kind reads files of the module that defines it. A variable of the kind with file = true
// names a file of the module that uses the kind.

// fileVariable reads file = true.
func (ps *parser) fileVariable(e hclsyntax.Expression) bool {
	v, hds := e.Value(nil)
	if hds.HasErrors() || v.IsNull() || v.Type() != cty.Bool || !v.IsKnown() {
		ps.Errorf(syntax.RangeOf(e.Range()), "Wrong type", "file must be true or false.")
		return false
	}
	if ps.in == nil && v.True() {
		ps.Errorf(syntax.RangeOf(e.Range()), "Attribute file outside of a define",
			"Only a variable of a defined kind can have file = true: its value names a file of the module that uses the kind. Remove file here.")
	}
	return v.True()
}

// The ways to merge a value with the values of lower layers.
const (
	ReplaceBelow = "replace" // the value replaces all lower values; the default
	mergeShallow = "shallow" // the value's keys replace lower keys; other keys remain
	MergeDeep    = "deep"    // like shallow, but also in nested objects
)

// CheckMerge reports an unknown merge method.
func CheckMerge(rng diag.Range, how string) diag.List {
	ways := []string{ReplaceBelow, mergeShallow, MergeDeep}
	if slices.Contains(ways, how) {
		return nil
	}
	return diag.List{diag.Errorf(rng, "Bad merge", "%q is not a merge method. Use one of %s.%s", how,
		strings.Join(ways, ", "), syntax.Near(how, ways))}
}

func (ps *parser) variable(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	attrs := []string{"type", "default", "description", "merge", "file"}
	if b.Type == "param" {
		attrs = []string{"type", "default", "description", "secret"}
	}
	ps.only(b, attrs, []string{"validation"})
	if ps.in != nil && slices.Contains(syntax.MetaAttributes(), name) {
		ps.Errorf(r, "Reserved name",
			"%q is an attribute of every state, so a defined kind cannot have a variable with this name. Rename the variable.",
			name)
		return
	}
	if old, ok := ps.body.Vars[name]; ok {
		ps.Errorf(r, "Variable declared twice",
			"The variable %q is already declared at %s. Rename or remove one of the two.", name, old.Range)
		return
	}
	v := &Variable{Name: name, Range: r}
	v.Type, v.Defaults = ps.typeOf(b.Body.Attributes["type"])
	if a := b.Body.Attributes["default"]; a != nil {
		v.Default = a.Expr
	}
	if a := b.Body.Attributes["description"]; a != nil {
		v.Description = ps.text(a.Expr, "description")
	}
	if a := b.Body.Attributes["merge"]; a != nil {
		v.Merge = ps.text(a.Expr, "merge")
		ps.Add(CheckMerge(syntax.RangeOf(a.Expr.Range()), v.Merge)...)
	}
	if a := b.Body.Attributes["file"]; a != nil {
		v.File = ps.fileVariable(a.Expr)
	}
	if v.Secret = ps.boolOf(b.Body.Attributes, "secret", false); v.Secret && v.Type != cty.String &&
		v.Type != cty.DynamicPseudoType {
		ps.Errorf(r, "Wrong type", "A secret parameter must be a string: write type = string.")
	}
	for _, sub := range b.Body.Blocks {
		ps.only(sub, []string{"condition", "error_message"}, nil)
		c, m := sub.Body.Attributes["condition"], sub.Body.Attributes["error_message"]
		if c == nil || m == nil {
			ps.Errorf(syntax.RangeOf(sub.DefRange()), "Incomplete validation",
				"A validation needs a condition and an error_message.")
			continue
		}
		v.Validations = append(v.Validations, Validation{c.Expr, m.Expr})
	}
	ps.body.Vars[name] = v
}

func (ps *parser) locals(b *hclsyntax.Block) {
	if len(b.Labels) > 0 {
		ps.Errorf(syntax.RangeOf(b.LabelRanges[0]), "Unexpected label",
			"A locals block has no label. Write locals { name = value }.")
	}
	for _, sub := range b.Body.Blocks {
		ps.Errorf(syntax.RangeOf(sub.TypeRange), "Unknown block", "A locals block can contain only attributes: name = value.")
	}
	for _, a := range syntax.AttributeOrder(b.Body.Attributes) {
		if old, ok := ps.body.Locals[a.Name]; ok {
			ps.Errorf(syntax.RangeOf(a.NameRange), "Local declared twice",
				"The local %q is already declared at %s. Rename or remove one of the two.", a.Name, syntax.RangeOf(old.NameRange))
			continue
		}
		ps.body.Locals[a.Name] = a
	}
}

func (ps *parser) fact(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"type", "default", "description"}, nil)
	if old, ok := ps.body.Facts[name]; ok {
		ps.Errorf(r, "Fact declared twice", "The fact %q is already declared at %s. Remove one of the two.", name, old.Range)
		return
	}
	CheckFact(&ps.Reports, name, r)
	f := &Fact{Name: name, Range: r}
	f.Type, _ = ps.typeOf(b.Body.Attributes["type"])
	if a := b.Body.Attributes["default"]; a != nil {
		f.Default = a.Expr
	}
	ps.body.Facts[name] = f
}
