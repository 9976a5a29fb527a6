package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// output evaluates an output of a scope once.
func (ev *Evaluator) output(s *Scope, name string) *Memo {
	m := s.Outputs[name]
	if m == nil {
		m = &Memo{}
		s.Outputs[name] = m
	}
	o := s.body.Outputs[name]
	if !ev.begin(m, s.Prefix+name, syntax.RangeOf(o.Value.Range())) {
		return m
	}
	defer ev.end(m)
	if m.Value, m.refs, m.OK = ev.evalAny(s, nil, o.Value); m.OK && o.Type != cty.NilType {
		m.Value, m.OK = outputOf(ev, name, o, m.Value)
	}
	return m
}

// outputOf converts the value of an output to its declared type.
func outputOf(ev *Evaluator, name string, o *source.Output, v cty.Value) (cty.Value, bool) {
	out, err := convert.Convert(v, o.Type)
	if err != nil {
		ev.Errorf(syntax.RangeOf(o.Value.Range()), "Wrong type",
			"The output %q must be a %s (declared at %s), and this is a %s.%s", name, o.Type.FriendlyName(), o.Range,
			v.Type().FriendlyName(), why(err))
	}
	return out, err == nil
}

// outputsInto adds all outputs of a scope to an object's values.
func outputsInto(ev *Evaluator, vals map[string]cty.Value, s *Scope) bool {
	for _, name := range syntax.SortedNames(s.body.Outputs) {
		m := ev.output(s, name)
		if !m.OK {
			return false
		}
		vals[name] = m.Value
	}
	return true
}

// invocationOutput returns an output of an invocation of a defined kind; nil if the invocation has
// an error, which is reported at its place.
func invocationOutput(ev *Evaluator, in *Instance, name string) *Memo {
	s := ev.open(in)
	if s == nil {
		return nil
	}
	return ev.output(s, name)
}

// moduleValue adds the outputs of a module, or the named output, to the tree.
func moduleValue(ev *Evaluator, r reference, t hcl.Traversal, path []string, tree *names) ([]reference, bool) {
	s, at := r.scope, len(path)
	name, named := syntax.StepName(t, at)
	switch {
	case !s.Assigned:
		if s.Vars == nil { // requested by the variables of a module
			notYet(ev, r.rng, t)
		}
		return nil, false
	case !named:
		vals := map[string]cty.Value{}
		if !outputsInto(ev, vals, s) {
			return nil, false
		}
		tree.set(path, cty.ObjectVal(vals))
		return []reference{r}, true
	}
	m := ev.output(s, name)
	if m.OK {
		tree.set(append(path, name), m.Value)
	}
	return []reference{r}, m.OK
}

// modulesValue adds a map with the outputs of all modules of a block to the tree.
func modulesValue(ev *Evaluator, s *Scope, all map[string]reference, t hcl.Traversal,
	tree *names) ([]reference, bool) {
	if !s.Module().Assigned {
		notYet(ev, syntax.RangeOf(t.SourceRange()), t)
		return nil, false
	}
	vals := map[string]cty.Value{}
	var refs []reference
	for _, key := range syntax.SortedNames(all) {
		m := all[key].scope
		outputs := map[string]cty.Value{}
		if !m.Assigned || !outputsInto(ev, outputs, m) {
			return nil, false
		}
		vals[key] = cty.ObjectVal(outputs)
		refs = append(refs, all[key])
	}
	name, _ := syntax.StepName(t, 1)
	tree.set([]string{"module", name}, cty.ObjectVal(vals))
	return refs, true
}

// notYet reports a variable that uses a value of a module.
func notYet(ev *Evaluator, rng diag.Range, t hcl.Traversal) {
	ev.Errorf(rng, "Module is not known yet",
		"Variables are evaluated before modules, so a variable cannot use a value of a module. "+
			"Use %s in a state or in locals.", traversalText(t))
}
