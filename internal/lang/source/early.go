package source

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Each returns the values of each, nil without an element.
func (e *Element) Each() map[string]cty.Value {
	if e == nil {
		return nil
	}
	return map[string]cty.Value{"key": cty.StringVal(e.Key), "value": e.Value}
}

// String returns the element for messages.
func (e *Element) String() string { return fmt.Sprintf("element %q", e.Key) }

// Files returns the files that the for_each read, nil without an element.
func (e *Element) Files() []string {
	if e == nil {
		return nil
	}
	return e.files
}

// context returns the values for expressions that depend on no target: each, if there is an element.
func (p *Program) context(e *Element) *hcl.EvalContext {
	if e == nil {
		return p.Pure
	}
	if e.ctx == nil {
		e.ctx = p.Pure.NewChild()
		e.ctx.Variables = map[string]cty.Value{"each": cty.ObjectVal(e.Each())}
	}
	return e.ctx
}

// Early evaluates an expression before any target or fact is known.
func (p *Program) Early(r *syntax.Reports, e hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	return p.early(r, nil, e, want)
}

// EarlyIn is like Early, for an expression of a level. In a target block with for_each it can use each.
func (p *Program) EarlyIn(r *syntax.Reports, l *Level, e hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	return p.early(r, l.Each, e, want)
}

func (p *Program) early(r *syntax.Reports, each *Element, e hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	return earlyIn(r, p.context(each), each, e, want)
}

// within returns a context with the values of the block of a scope that is being read.
func (ps *parser) within(ctx *hcl.EvalContext) *hcl.EvalContext {
	if ps.values == nil {
		return ctx
	}
	ctx = ctx.NewChild()
	ctx.Variables = ps.values
	return ctx
}

// earlyOf evaluates an expression of a block of a scope before any target is known.
func earlyOf(ps *parser, e hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	return earlyIn(&ps.Reports, ps.within(ps.prog.Pure), nil, e, want)
}

func earlyIn(r *syntax.Reports, ctx *hcl.EvalContext, each *Element, e hclsyntax.Expression,
	want cty.Type) (cty.Value, bool) {
	v, hds := e.Value(ctx)
	ds := syntax.FromHCL(hds)
	if !hds.HasErrors() {
		var err error
		if v, err = convert.Convert(v, want); err != nil || v.IsNull() || !v.IsWhollyKnown() {
			ds = append(ds, diag.Errorf(syntax.RangeOf(e.Range()), "Wrong type", "This must be %s.",
				diag.One(want.FriendlyName())))
		}
	}
	for i := range ds {
		if each != nil {
			ds[i].Detail += fmt.Sprintf(" Here, each is the %s.", each)
		}
	}
	r.Add(ds...)
	return v, !ds.HasErrors()
}

// EarlyVars returns the variables of a block with for_each whose vars are not written as { … }. They can use each and
// functions.
func (p *Program) EarlyVars(r *syntax.Reports, a *hclsyntax.Attribute, each *Element) (map[string]cty.Value, bool) {
	v, ok := p.early(r, each, a.Expr, cty.DynamicPseudoType)
	if !ok {
		return nil, false
	}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		r.Errorf(syntax.RangeOf(a.Expr.Range()), "Variables are an object",
			"vars must be an object: vars = { name = value }. Here, each is the %s.", each)
		return nil, false
	}
	return v.AsValueMap(), true
}

// EarlyName is a name in a list of a level, with its place.
type EarlyName struct {
	Text  string
	Range diag.Range
}

// EarlyNames returns the names in a list of a level: roles, modules or layers. The list is written as [ … ], or it
// is an expression of a target block with for_each. a can be nil.
func (p *Program) EarlyNames(r *syntax.Reports, l *Level, a *hclsyntax.Attribute) []EarlyName {
	if a == nil {
		return nil
	}
	var out []EarlyName
	exprs, hds := hcl.ExprList(a.Expr)
	if hds.HasErrors() && l.Each != nil {
		v, ok := p.EarlyIn(r, l, a.Expr, cty.List(cty.String))
		if !ok {
			return nil
		}
		for _, e := range v.AsValueSlice() {
			if e.IsNull() {
				r.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "%s contains null. Here, each is the %s.", a.Name,
					l.Each)
				return nil
			}
			out = append(out, EarlyName{e.AsString(), syntax.RangeOf(a.Expr.Range())})
		}
		return out
	}
	r.Add(syntax.FromHCL(hds)...)
	for _, e := range exprs {
		if v, ok := p.EarlyIn(r, l, e.(hclsyntax.Expression), cty.String); ok {
			out = append(out, EarlyName{v.AsString(), syntax.RangeOf(e.Range())})
		}
	}
	return out
}

// ModulePrefix returns the prefix of the names of a module's states.
func ModulePrefix(name string) string {
	if !hclsyntax.ValidIdentifier(name) {
		return `module["` + name + `"].`
	}
	return "module." + name + "."
}

// Prefix returns the prefix of the names of the states.
func (u *ModuleUse) Prefix() string {
	if u.Each == nil {
		return ModulePrefix(u.Name)
	}
	return strings.TrimSuffix(ModulePrefix(u.Each.Block), ".") + fmt.Sprintf("[%q].", u.Each.Key)
}

// Repeated reports whether the block of a level has a for_each.
func (u *ModuleUse) Repeated() bool { return u.generator != nil }

// Called reports whether a name means the module: its own name, or the label of its block.
func (u *ModuleUse) Called(name string) bool {
	return u.Name == name || u.Each != nil && u.Each.Block == name
}
