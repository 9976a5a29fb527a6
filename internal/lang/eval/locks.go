package eval

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/step"
)

// locksOf returns the locks that a state or block needs: its attribute lock, one name or a list of names. An empty
// list and null mean none.
func locksOf(ev *Evaluator, st *State, each map[string]cty.Value) []string {
	a := st.decl.Attributes["lock"]
	if a != nil && st.kind != nil && changesNothing(st.kind) {
		ev.Errorf(syntax.RangeOf(a.NameRange), "Unnecessary lock", "A %s changes nothing, so it needs no lock. Remove lock.",
			st.kind.Name)
		return nil
	}
	return locksIn(ev, st.Scope, each, a)
}

// locksOfModule returns the locks that all states of a module need.
func locksOfModule(ev *Evaluator, s *Scope) []string {
	if s.body.Lock == nil {
		return nil
	}
	mark := ev.observed.mark()
	defer func() { ev.observed.made(Outcome{Unshared: true}, mark) }()
	return locksIn(ev, s, nil, s.body.Lock)
}

// locksIn evaluates an attribute with names of locks. It returns nil if a is nil.
func locksIn(ev *Evaluator, s *Scope, each map[string]cty.Value, a *hclsyntax.Attribute) []string {
	if a == nil {
		return nil
	}
	r := syntax.RangeOf(a.Expr.Range())
	v, _, ok := ev.eval(s, each, a.Expr)
	if !ok {
		return nil
	}
	names, ok := lockNames(v)
	if !ok {
		ev.Errorf(r, "Wrong type", "lock must be the name of a lock, or a list of names, and this is %s.",
			diag.One(v.Type().FriendlyName()))
		return nil
	}
	if len(names) > step.MaxLocks {
		ev.Errorf(r, "Too many locks", "lock can name up to %d locks.", step.MaxLocks)
		return nil
	}
	for _, name := range names {
		if !declaresLock(ev, name, r) {
			return nil
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// changesNothing reports whether the states of a kind only test a condition.
func changesNothing(k *kind.Kind) bool { return k.Name == "check" || k.Name == "wait_for" }

// lockNames converts a value to names. A tuple, list or set of texts is a list.
func lockNames(v cty.Value) (names []string, ok bool) {
	switch {
	case v.IsNull():
		return nil, true
	case v.Type() == cty.String:
		return []string{v.AsString()}, true
	case !v.CanIterateElements() || v.Type().IsObjectType() || v.Type().IsMapType():
		return nil, false
	}
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || e.Type() != cty.String {
			return nil, false
		}
		names = append(names, e.AsString())
	}
	return names, true
}

// declaresLock reports whether the repository declares a lock, and adds an error otherwise.
func declaresLock(ev *Evaluator, name string, r diag.Range) bool {
	var known []string
	for _, l := range ev.Program.Locks {
		known = append(known, l.Name)
	}
	if slices.Contains(known, name) {
		return true
	}
	ev.Errorf(r, "Unknown lock", "The repository declares no lock %q.%s To declare it, add lock %q {} to fettle.hcl.",
		name, syntax.Suggest(name, known), name)
	return false
}
