package eval

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// topScope returns the scope of the top level with functions, the target and facts, but without
// variables and states.
func topScope(ev *Evaluator) *Scope {
	b := source.NewBody(ev.Program.Root.Directory)
	b.Facts = ev.Program.Root.Facts
	return &Scope{body: b, name: "the repository's vars", Directory: b.Directory, fctx: ev.Program.Functions(b.Directory),
		Vars: map[string]cty.Value{}, Facts: ev.factsOf(ev.Program.Root), states: map[string]map[string]*State{}, node: -1}
}

// assignVariables assigns values from the layers to a module's variables.
func assignVariables(ev *Evaluator, s *Scope, layers []VariableLayer) bool {
	s.Vars = map[string]cty.Value{}
	good := true
	for _, name := range syntax.SortedNames(s.body.Vars) {
		v, mark := s.body.Vars[name], ev.observed.mark()
		val, rng, ok := givenValue(ev, s, v, layers)
		if ok {
			val, ok = convertVar(ev, v, val, rng)
		}
		good = good && ok
		if ok {
			s.Vars[name] = val
			ev.observed.made(Outcome{Scope: s, Variable: name}, mark)
		}
	}
	s.varObj = cty.ObjectVal(s.Vars)
	return ev.Validate(s) && good
}

// variableDefault evaluates a default: an expression of functions, facts and target.
func variableDefault(ev *Evaluator, b *source.Body, v *source.Variable) (cty.Value, bool) {
	if v.Default == nil {
		return cty.NullVal(v.Type), true
	}
	s := &Scope{body: source.NewBody(b.Directory), name: "a default", Directory: b.Directory,
		fctx: ev.Program.Functions(b.Directory),
		Vars: map[string]cty.Value{}, Facts: ev.factsOf(b), states: map[string]map[string]*State{}, node: -1}
	s.body.Facts = b.Facts
	val, _, ok := ev.evalSecret(s, nil, v.Default)
	return val, ok
}

func convertVar(ev *Evaluator, v *source.Variable, val cty.Value, rng diag.Range) (cty.Value, bool) {
	if v.Defaults != nil && !val.IsNull() {
		val = v.Defaults.Apply(val)
	}
	out, err := convert.Convert(val, v.Type)
	if err != nil {
		ev.Errorf(rng, "Wrong type",
			"The variable %q must be %s (declared at %s), "+
				"and this is %s.%s", v.Name, diag.One(v.Type.FriendlyName()), v.Range, diag.One(val.Type().FriendlyName()),
			why(err))
		return cty.NilVal, false
	}
	return out, true
}

// fromText converts a value of the command line: for simple types the text itself, for lists and
// objects an expression of the language.
func fromText(ev *Evaluator, v *source.Variable, lv layerValue) (cty.Value, bool) {
	text := lv.val.AsString()
	if v.Type.IsPrimitiveType() || v.Type == cty.DynamicPseudoType {
		return lv.val, true
	}
	if ds := syntax.Guard([]byte(text), "command line", syntax.ExpressionSyntax); ds.HasErrors() {
		ev.Add(ds...)
		return cty.NilVal, false
	}
	e, hds := hclsyntax.ParseExpression([]byte(text), "command line", hcl.InitialPos)
	if hds.HasErrors() {
		ev.Errorf(lv.rng, "Bad value",
			`The value of the variable %q is not a valid %s: %s. Write it in the syntax of the language, `+
				`for example --var '%s=["a"]'.`, v.Name, v.Type.FriendlyName(), hds[0].Summary, v.Name)
		return cty.NilVal, false
	}
	syntax.CheckDivisions(e)
	ev.Program.Loops.Watch(e)
	val, hds := e.Value(ev.Program.Pure)
	if hds.HasErrors() {
		ev.Add(ev.Program.FromHCL(hds)...)
		return cty.NilVal, false
	}
	return val, true
}

// Validate checks the validations of a scope's variables.
func (ev *Evaluator) Validate(s *Scope) bool {
	good := true
	for _, name := range syntax.SortedNames(s.body.Vars) {
		for _, c := range s.body.Vars[name].Validations {
			if _, ok := s.Vars[name]; ok {
				good = validateOne(ev, s, name, c) && good
			}
		}
	}
	return good
}

func validateOne(ev *Evaluator, s *Scope, name string, c source.Validation) bool {
	v, _, ok := ev.evalAny(s, nil, c.Condition)
	if !ok {
		return false
	}
	if v, _ = v.Unmark(); !v.IsKnown() { // a validation can read a secret
		return true // it is checked when the value is known
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || b.IsNull() {
		ev.errorIn(s, syntax.RangeOf(c.Condition.Range()), "Wrong type",
			"The condition of a validation must be true or false.")
		return false
	}
	if b.True() {
		return true
	}
	text := "The value does not fulfill the condition of the validation."
	if m, _, ok := ev.evalSecret(s, nil, c.Message); ok && !m.IsMarked() && m.Type() == cty.String && !m.IsNull() {
		text = m.AsString()
	}
	refuseValue(ev, s, name, text)
	return false
}

// refuseValue reports a value that a validation does not allow: at the variable, or for a defined kind
// at its use, where the user can correct it.
func refuseValue(ev *Evaluator, s *Scope, name, text string) {
	declared := s.body.Vars[name].Range
	if s.Call == nil {
		ev.Errorf(declared, "Invalid value for a variable", "%s (The value is %s.)", text, functions.Show(s.Vars[name]))
		return
	}
	st := s.Call.State
	at := st.decl.Range
	if a := st.decl.Attributes[name]; a != nil {
		at = syntax.RangeOf(a.Expr.Range())
	}
	d := diag.Errorf(declared, "Invalid value for an attribute", "%s (%s of the %s is %s.)", text, name, st.kind.Name,
		functions.Show(s.Vars[name]))
	ev.Add(d.UsedAt(append([]diag.Range{at}, st.Scope.trace...)))
}

// why returns the detail of a failed conversion if it has more information than the types.
func why(err error) string {
	if s := err.Error(); strings.Contains(s, ":") || strings.Contains(s, "element") || strings.Contains(s, "attribute") {
		return " " + syntax.Sentence(err)
	}
	return ""
}
