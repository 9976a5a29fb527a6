package source

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

func (ps *parser) target(b *hclsyntax.Block) {
	l, ok := ps.level(b, "labels")
	if !ok {
		return
	}
	for _, old := range ps.prog.Targets {
		if old.Name == l.Name {
			ps.Errorf(l.Range, "Target declared twice",
				"The target %q is already declared at %s. Rename or remove one of the two.", l.Name, old.Range)
			return
		}
	}
	ps.prog.Targets = append(ps.prog.Targets, &Target{Level: l, Labels: b.Body.Attributes["labels"]})
}

// Early evaluates an expression before any target or fact is known.
func (p *Program) Early(r *syntax.Reports, e hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	v, hds := e.Value(p.Pure)
	r.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return cty.NilVal, false
	}
	v, err := convert.Convert(v, want)
	if err != nil || v.IsNull() || !v.IsWhollyKnown() {
		r.Errorf(syntax.RangeOf(e.Range()), "Wrong type", "This must be %s.", diag.One(want.FriendlyName()))
		return cty.NilVal, false
	}
	return v, true
}
