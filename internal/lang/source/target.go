package source

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

func (ps *parser) target(b *hclsyntax.Block) {
	l, ok := ps.level(b, "labels", "for_each", "name", "at_least")
	if !ok {
		return
	}
	if old := ps.targets[l.Name]; old != nil {
		ps.Errorf(l.Range, "Target declared twice",
			"The target %q is already declared at %s. Rename or remove one of the two.", l.Name, old.Range)
		return
	}
	t := &Target{Level: l, Labels: b.Body.Attributes["labels"], generator: ps.generator(b.Body.Attributes, 1)}
	if ps.targets == nil {
		ps.targets = map[string]*Target{}
	}
	ps.targets[l.Name] = t
	ps.prog.Targets = append(ps.prog.Targets, t)
}

func (ps *parser) enrolled(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"labels", "waits", "environment", "tests_for"}, nil)
	if old := ps.prog.more.enrolled[name]; old != nil {
		ps.Errorf(r, "Target enrolled twice", "The target %q is already enrolled at %s. Remove one of the two blocks.",
			name, old.rng)
		return
	}
	ps.prog.more.enrolled[name] = &enrolled{name: name, rng: r, Labels: b.Body.Attributes["labels"],
		waits: b.Body.Attributes["waits"], Environment: dynamicOf(ps, b.Body.Attributes["environment"]),
		TestsFor: testsFor(ps, b.Body.Attributes["tests_for"])}
}

// testsFor reads the environments of other targets whose checks a target can test.
func testsFor(ps *parser, a *hclsyntax.Attribute) (out []*Environment) {
	if a == nil {
		return nil
	}
	v, hds := a.Expr.Value(nil)
	ps.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	rng := syntax.RangeOf(a.Expr.Range())
	if v.IsNull() || !v.Type().IsTupleType() {
		ps.Errorf(rng, "Bad environments of a target", `tests_for must be a list of environments: [{ name = "review-7" }].`)
		return nil
	}
	for _, element := range v.AsValueSlice() {
		if e := environmentIn(ps, element, rng); e != nil {
			out = append(out, e)
		}
	}
	return out
}

// dynamicOf reads the environment that a user of a hub created for a target. Its values are constant, because the hub
// takes them from a user, who must not read secrets with an expression.
func dynamicOf(ps *parser, a *hclsyntax.Attribute) *Environment {
	if a == nil {
		return nil
	}
	v, hds := a.Expr.Value(nil)
	ps.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	return environmentIn(ps, v, syntax.RangeOf(a.Expr.Range()))
}

// environmentIn returns the environment with the values of an object, or nil after an error.
func environmentIn(ps *parser, v cty.Value, rng diag.Range) *Environment {
	e := &Environment{Dynamic: true, rng: rng}
	good := !v.IsNull() && v.Type().IsObjectType()
	if good {
		for name, x := range v.AsValueMap() {
			switch text := map[string]*string{"name": &e.Name, "parent": &e.Parent, "domain": &e.Domain}[name]; {
			case text != nil && !x.IsNull() && x.Type() == cty.String:
				*text = x.AsString()
			case name == "vars" && !x.IsNull() && (x.Type().IsObjectType() || x.Type().IsMapType()):
				e.Given = x.AsValueMap()
			default:
				good = false
			}
		}
	}
	if !good || !lockName().MatchString(e.Name) || len(e.Name) > maxLockName {
		ps.Errorf(rng, "Bad environment of a target",
			`environment must be an object of a name, and optionally parent, domain and vars: { name = "review-7" }.`)
		return nil
	}
	e.Level = Level{Kind: EnvironmentKind, Name: e.Name, Range: rng, Given: e.Given}
	return e
}

// enrol joins enrolled targets with the declared targets of the same name. It appends the remaining
// enrolled targets, sorted by place and name.
func (p *Program) enrol() {
	for _, t := range p.Targets {
		if e := p.more.enrolled[t.Name]; e != nil {
			t.Enrolled, t.Waits, e.Declared = e, e.waits, true
		}
	}
	var more []*enrolled
	for _, e := range p.more.enrolled {
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
