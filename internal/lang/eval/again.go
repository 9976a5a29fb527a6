package eval

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/syntax"
)

// Restart prepares the evaluation of parts for another target.
func (ev *Evaluator) Restart(in Input, target cty.Value) {
	ev.Reports, ev.in, ev.Target = syntax.Reports{}, in, target
}

// Reassign assigns variables of a module again, with another layer of the target itself. It does not
// check their validations. The result is false after a diagnostic.
func (ev *Evaluator) Reassign(s *Scope, own VariableLayer, names map[string]bool) bool {
	layers := slices.Clone(s.layers)
	for i, l := range layers {
		if l.name == own.name {
			layers[i] = own
		}
	}
	s.layers, s.Vars = layers, maps.Clone(s.Vars)
	for name := range names {
		v := s.body.Vars[name]
		val, rng, ok := givenValue(ev, s, v, layers)
		if ok {
			val, ok = convertVar(ev, v, val, rng)
		}
		if !ok {
			return false
		}
		s.Vars[name] = val
	}
	s.varObj = cty.ObjectVal(s.Vars)
	return true
}

// Repeat repeats a decision, and reports whether the result is the same. The inside of an
// invocation gets its variables.
func (ev *Evaluator) Repeat(u Unit) bool {
	switch {
	case u.Inner != nil:
		vars := maps.Clone(u.Inner.Vars)
		for n := range vars {
			memo := ev.Attr(u.Inner.Call, n)
			if !memo.OK {
				return false
			}
			vars[n] = memo.Value
		}
		u.Inner.Vars, u.Inner.varObj = vars, cty.ObjectVal(vars)
		return ev.Validate(u.Inner)
	case u.every != nil:
		v, _, ok := ev.eval(u.State.Scope, nil, u.State.decl.Attributes["for_each"].Expr)
		u.every.Done = true
		return ok && v.Type().Equals(u.Value.Type()) && v.RawEquals(u.Value)
	}
	on, _, ok := ev.when(u.State, u.Each)
	return ok && on == u.On
}
