package source

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
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

func (ps *parser) enrolled(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"labels", "waits"}, nil)
	if old := ps.prog.enrolled[name]; old != nil {
		ps.Errorf(r, "Target enrolled twice", "The target %q is already enrolled at %s. Remove one of the two blocks.",
			name, old.rng)
		return
	}
	ps.prog.enrolled[name] = &enrolled{name: name, rng: r, Labels: b.Body.Attributes["labels"],
		waits: b.Body.Attributes["waits"]}
}

// enrol joins enrolled targets with the declared targets of the same name. It appends the remaining
// enrolled targets, sorted by place and name.
func (p *Program) enrol() {
	for _, t := range p.Targets {
		if e := p.enrolled[t.Name]; e != nil {
			t.Enrolled, t.Waits, e.Declared = e, e.waits, true
		}
	}
	var more []*enrolled
	for _, e := range p.enrolled {
		if !e.Declared {
			more = append(more, e)
		}
	}
	slices.SortFunc(more, func(a, b *enrolled) int {
		return cmp.Or(cmp.Compare(a.rng.File, b.rng.File), cmp.Compare(a.rng.Start.Byte, b.rng.Start.Byte),
			cmp.Compare(a.name, b.name))
	})
	for _, e := range more {
		p.Targets = append(p.Targets, &Target{Level: Level{Kind: "target", Name: e.name, Range: e.rng, Waits: e.waits},
			Enrolled: e})
	}
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
