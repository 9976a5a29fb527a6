package source

import (
	"maps"
	"path"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/syntax"
)

// LevelModules returns the modules that one level names.
func (p *Program) LevelModules(r *syntax.Reports, l *Level) []*ModuleUse {
	var uses []*ModuleUse
	if l.Modules != nil {
		exprs, hds := hcl.ExprList(l.Modules.Expr)
		r.Add(syntax.FromHCL(hds)...)
		for _, e := range exprs {
			v, ok := p.Early(r, e.(hclsyntax.Expression), cty.String)
			if ok {
				uses = append(uses, &ModuleUse{Name: v.AsString(), Directory: path.Join("modules", v.AsString()),
					Range: syntax.RangeOf(e.Range()), Vars: map[string]*hclsyntax.Attribute{}, From: []Given{{l.String(),
						syntax.RangeOf(e.Range())}}})
			}
		}
	}
	for _, u := range l.Uses { // a copy, because several targets share roles
		own := *u
		own.Vars, own.From = maps.Clone(u.Vars), []Given{{l.String(), u.Range}}
		if own.Vars == nil {
			own.Vars = map[string]*hclsyntax.Attribute{}
		}
		uses = append(uses, &own)
	}
	return uses
}
