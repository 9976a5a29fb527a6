package eval

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// factsOf returns the facts that a body may use: its own and the top level's.
func (ev *Evaluator) factsOf(b *source.Body) map[string]cty.Value {
	if known, ok := ev.factSet[b]; ok {
		return known
	}
	tree := &names{kids: map[string]*names{}}
	for _, set := range []map[string]*source.Fact{ev.Program.Root.Facts, b.Facts} {
		for _, name := range syntax.SortedNames(set) {
			if v, ok := ev.factValue(set[name]); ok {
				tree.set(strings.Split(name, "."), v)
			}
		}
	}
	out := tree.value().AsValueMap()
	if ev.factSet == nil {
		ev.factSet = map[*source.Body]map[string]cty.Value{}
	}
	ev.factSet[b] = out
	return out
}

func declaredFact(ev *Evaluator, s *Scope, name string) bool {
	for _, set := range []map[string]*source.Fact{ev.Program.Root.Facts, s.body.Facts} {
		for n := range set {
			if n == name || strings.HasPrefix(n, name+".") {
				return true
			}
		}
	}
	return false
}

// factValue returns the fact of the host, or the default.
func (ev *Evaluator) factValue(f *source.Fact) (cty.Value, bool) {
	if !slices.Contains(ev.Catalog.FactsUsed, f.Name) {
		ev.Catalog.FactsUsed = append(ev.Catalog.FactsUsed, f.Name)
	}
	v, ok := hostFact(ev.in.Facts, f.Name)
	switch {
	case ok:
	case ev.in.ReportedFacts:
		ev.Errorf(f.Range, "Fact is not reported",
			"The agent of the target has not reported the fact %q. An agent reports the facts that the present "+
				"configuration uses, if they have a value.", f.Name)
		return cty.NilVal, false
	case f.Default != nil:
		if v, ok = ev.Program.Early(&ev.Reports, f.Default, f.Type); !ok {
			return cty.NilVal, false
		}
	default:
		ev.Errorf(f.Range, "Fact is missing",
			"The target has no fact %q.%s Set a default in the fact block. To list all facts, run: "+
				"fettle facts", f.Name, syntax.Suggest(f.Name, syntax.Names(ev.in.Facts)))
		return cty.NilVal, false
	}
	out, err := convert.Convert(v, f.Type)
	if err != nil {
		ev.Errorf(f.Range, "Wrong type",
			"The fact %q is declared as %s, "+
				"but the value on the target is %s.", f.Name, diag.One(f.Type.FriendlyName()), diag.One(v.Type().FriendlyName()))
		return cty.NilVal, false
	}
	return out, true
}

// hostFact returns a fact by its name: a fact, an entry of an object, or an object of all facts
// with this prefix.
func hostFact(facts map[string]cty.Value, name string) (cty.Value, bool) {
	if v, ok := facts[name]; ok {
		return v, true
	}
	head, rest, dotted := strings.Cut(name, ".")
	if v, ok := facts[head]; ok && dotted && !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType()) {
		return hostFact(v.AsValueMap(), rest)
	}
	tree := &names{}
	for _, k := range syntax.SortedNames(facts) {
		if below, ok := strings.CutPrefix(k, name+"."); ok {
			tree.set(strings.Split(below, "."), facts[k])
		}
	}
	return tree.value(), len(tree.kids) > 0
}
