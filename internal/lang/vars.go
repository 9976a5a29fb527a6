package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
)

// layer is one source of variables, from low to high.
type layer struct {
	name   string
	values map[string]layerValue
	merge  map[string]string // how values merge with lower layers
}

type layerValue struct {
	val  cty.Value
	rng  diag.Range
	from string // the snapshots that it is made of, for explain
	text bool   // from the command line: text of the language or a plain text
}

// layerOf reads a vars attribute.
func (ev *evaluator) layerOf(name string, a *hclsyntax.Attribute) (layer, bool) {
	l := layer{name: name, values: map[string]layerValue{}}
	if a == nil {
		return l, true
	}
	items, hds := hcl.ExprMap(a.Expr)
	if hds.HasErrors() {
		ev.errorf(rangeOf(a.Expr.Range()), "Variables are an object", "vars must be an object: vars = { name = value }.")
		return l, false
	}
	good := true
	top := ev.topScope()
	for _, it := range items {
		k, kds := it.Key.Value(nil)
		if kds.HasErrors() || k.Type() != cty.String {
			ev.errorf(rangeOf(it.Key.Range()), "Bad variable name", "The name of a variable must be an identifier: vars = { name = value }.")
			good = false
			continue
		}
		v, _, ok := ev.evalSecret(top, nil, it.Value.(hclsyntax.Expression))
		good = good && ok
		if ok {
			l.values[k.AsString()] = layerValue{val: v, rng: rangeOf(it.Key.Range()), from: snapshotsOf(top.directory, it.Value.(hclsyntax.Expression))}
		}
	}
	return l, good
}

// topScope returns the scope of the top level with functions, the target and facts, but without
// variables and states.
func (ev *evaluator) topScope() *scope {
	b := newBody(ev.prog.root.directory)
	b.facts = ev.prog.root.facts
	return &scope{body: b, name: "the repository's vars", directory: b.directory, fctx: ev.prog.functions(b.directory),
		vars: map[string]cty.Value{}, facts: ev.factsOf(ev.prog.root), states: map[string]map[string]*state{}, node: -1}
}

func commandLine(vars map[string]string) layer {
	l := layer{name: "command line", values: map[string]layerValue{}}
	for k, v := range vars {
		l.values[k] = layerValue{val: cty.StringVal(v), rng: diag.Range{File: "command line"}, text: true}
	}
	return l
}

// assign assigns values from the layers to a module's variables.
func (ev *evaluator) assign(s *scope, layers []layer) bool {
	s.vars = map[string]cty.Value{}
	good := true
	for _, name := range sortedKeys(s.body.vars) {
		v, mark := s.body.vars[name], ev.mark()
		val, rng, ok := ev.given(s, v, layers)
		if ok {
			val, ok = ev.convertVar(v, val, rng)
		}
		good = good && ok
		if ok {
			s.vars[name] = val
			ev.madeVar(s, name, mark)
		}
	}
	s.varObj = cty.ObjectVal(s.vars)
	return ev.validate(s) && good
}

func sortedKeys[V any](m map[string]V) []string {
	out := keysOf(m)
	slices.Sort(out)
	return out
}

// variableDefault evaluates a default: an expression of functions, facts and target.
func (ev *evaluator) variableDefault(b *body, v *variable) (cty.Value, bool) {
	if v.def == nil {
		return cty.NullVal(v.typ), true
	}
	s := &scope{body: newBody(b.directory), name: "a default", directory: b.directory, fctx: ev.prog.functions(b.directory),
		vars: map[string]cty.Value{}, facts: ev.factsOf(b), states: map[string]map[string]*state{}, node: -1}
	s.body.facts = b.facts
	val, _, ok := ev.evalSecret(s, nil, v.def)
	return val, ok
}

func (ev *evaluator) convertVar(v *variable, val cty.Value, rng diag.Range) (cty.Value, bool) {
	if v.defaults != nil && !val.IsNull() {
		val = v.defaults.Apply(val)
	}
	out, err := convert.Convert(val, v.typ)
	if err != nil {
		ev.errorf(rng, "Wrong type",
			"The variable %q must be %s (declared at %s), "+
				"and this is %s.%s", v.name, diag.One(v.typ.FriendlyName()), v.rng, diag.One(val.Type().FriendlyName()), why(err))
		return cty.NilVal, false
	}
	return out, true
}

// fromText converts a value of the command line: for simple types the text itself, for lists and
// objects an expression of the language.
func (ev *evaluator) fromText(v *variable, lv layerValue) (cty.Value, bool) {
	text := lv.val.AsString()
	if v.typ.IsPrimitiveType() || v.typ == cty.DynamicPseudoType {
		return lv.val, true
	}
	if ds := guard([]byte(text), "command line", expressionSyntax); ds.HasErrors() {
		ev.add(ds...)
		return cty.NilVal, false
	}
	e, hds := hclsyntax.ParseExpression([]byte(text), "command line", hcl.InitialPos)
	if hds.HasErrors() {
		ev.errorf(lv.rng, "Bad value",
			`The value of the variable %q is not a valid %s: %s. Write it in the syntax of the language, `+
				`for example --var '%s=["a"]'.`, v.name, v.typ.FriendlyName(), hds[0].Summary, v.name)
		return cty.NilVal, false
	}
	checkDivisions(e)
	ev.prog.loops.watch(e)
	val, hds := e.Value(ev.prog.pure)
	if hds.HasErrors() {
		ev.add(ev.prog.fromHCL(hds)...)
		return cty.NilVal, false
	}
	return val, true
}

// validate checks the validations of a scope's variables.
func (ev *evaluator) validate(s *scope) bool {
	good := true
	for _, name := range sortedKeys(s.body.vars) {
		for _, c := range s.body.vars[name].validations {
			if _, ok := s.vars[name]; ok {
				good = ev.validateOne(s, name, c) && good
			}
		}
	}
	return good
}

func (ev *evaluator) validateOne(s *scope, name string, c validation) bool {
	v, _, ok := ev.evalAny(s, nil, c.condition)
	if !ok {
		return false
	}
	if v, _ = v.Unmark(); !v.IsKnown() { // a validation can read a secret
		return true // it is checked when the value is known
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || b.IsNull() {
		ev.errorIn(s, rangeOf(c.condition.Range()), "Wrong type", "The condition of a validation must be true or false.")
		return false
	}
	if b.True() {
		return true
	}
	text := "The value does not fulfill the condition of the validation."
	if m, _, ok := ev.evalSecret(s, nil, c.message); ok && !m.IsMarked() && m.Type() == cty.String && !m.IsNull() {
		text = m.AsString()
	}
	ev.refuse(s, name, text)
	return false
}

// refuse reports a value that a validation does not allow: at the variable, or for a defined kind
// at its use, where the user can correct it.
func (ev *evaluator) refuse(s *scope, name, text string) {
	declared := s.body.vars[name].rng
	if s.call == nil {
		ev.errorf(declared, "Invalid value for a variable", "%s (The value is %s.)", text, show(s.vars[name]))
		return
	}
	st := s.call.st
	at := st.decl.rng
	if a := st.decl.attrs[name]; a != nil {
		at = rangeOf(a.Expr.Range())
	}
	d := diag.Errorf(declared, "Invalid value for an attribute", "%s (%s of the %s is %s.)", text, name, st.kind.Name, show(s.vars[name]))
	ev.add(d.UsedAt(append([]diag.Range{at}, st.scope.trace...)))
}

// unknownVars reports variables that have values but no declaration.
func (ev *evaluator) unknownVars(l layer, declared map[string]bool, where string) {
	for _, name := range sortedKeys(l.values) {
		if !declared[name] {
			ev.errorf(l.values[name].rng, "Unknown variable", "%s declares a variable %q.%s", where, name, Suggest(name, keysOf(declared)))
		}
	}
}

// factsOf returns the facts that a body may use: its own and the top level's.
func (ev *evaluator) factsOf(b *body) map[string]cty.Value {
	if known, ok := ev.factSet[b]; ok {
		return known
	}
	tree := &names{kids: map[string]*names{}}
	for _, set := range []map[string]*fact{ev.prog.root.facts, b.facts} {
		for _, name := range sortedKeys(set) {
			if v, ok := ev.factValue(set[name]); ok {
				tree.set(strings.Split(name, "."), v)
			}
		}
	}
	out := tree.value().AsValueMap()
	if ev.factSet == nil {
		ev.factSet = map[*body]map[string]cty.Value{}
	}
	ev.factSet[b] = out
	return out
}

func (ev *evaluator) declaredFact(s *scope, name string) bool {
	for _, set := range []map[string]*fact{ev.prog.root.facts, s.body.facts} {
		for n := range set {
			if n == name || strings.HasPrefix(n, name+".") {
				return true
			}
		}
	}
	return false
}

// factValue returns the fact of the host, or the default.
func (ev *evaluator) factValue(f *fact) (cty.Value, bool) {
	if !slices.Contains(ev.cat.FactsUsed, f.name) {
		ev.cat.FactsUsed = append(ev.cat.FactsUsed, f.name)
	}
	v, ok := hostFact(ev.in.Facts, f.name)
	switch {
	case ok:
	case f.def != nil:
		if v, ok = ev.prog.early(&ev.reports, f.def, f.typ); !ok {
			return cty.NilVal, false
		}
	default:
		ev.errorf(f.rng, "Fact is missing",
			"The target has no fact %q.%s Set a default in the fact block. To list all facts, run: "+
				"fettle facts", f.name, Suggest(f.name, keysOf(ev.in.Facts)))
		return cty.NilVal, false
	}
	out, err := convert.Convert(v, f.typ)
	if err != nil {
		ev.errorf(f.rng, "Wrong type",
			"The fact %q is declared as %s, "+
				"but the value on the target is %s.", f.name, diag.One(f.typ.FriendlyName()), diag.One(v.Type().FriendlyName()))
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
	for _, k := range sortedKeys(facts) {
		if below, ok := strings.CutPrefix(k, name+"."); ok {
			tree.set(strings.Split(below, "."), facts[k])
		}
	}
	return tree.value(), len(tree.kids) > 0
}
