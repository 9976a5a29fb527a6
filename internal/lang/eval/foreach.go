package eval

import (
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// expand finds the instances of a state.
func (ev *Evaluator) expand(st *State) {
	if st.expanded {
		return
	}
	st.expanded = true
	st.byKey = map[string]*Instance{}
	a := st.decl.Attributes["for_each"]
	id := st.ID()
	if a == nil {
		st.Keys = []*Instance{{State: st, ID: id, Values: map[string]*Memo{}, Node: -1}}
		return
	}
	st.each = true
	m := &Memo{}
	if !ev.begin(m, id+".for_each", syntax.RangeOf(a.Expr.Range())) {
		return
	}
	defer ev.end(m)
	v, refs, ok := ev.evalLater(st.Scope, nil, a.Expr)
	st.bad = !ok
	if !ok {
		return
	}
	m.refs = refs
	if !v.IsKnown() {
		st.unknown = true
		return
	}
	ev.observed.made(Outcome{Unit: Unit{State: st, every: m, Value: v}}, ev.stack[len(ev.stack)-1].mark)
	if n := v.Type(); !v.IsNull() && (n.IsCollectionType() || n.IsObjectType()) && v.LengthInt() > catalog.MaxStates {
		ev.Errorf(syntax.RangeOf(a.Expr.Range()), "Too many states",
			"for_each makes %d states, and the limit is %d. Distribute the states over several targets.", v.LengthInt(),
			catalog.MaxStates)
		st.bad = true
		return
	}
	keys, vals, good := ev.Elements(syntax.RangeOf(a.Expr.Range()), v, "state")
	st.bad = !good
	for i, k := range keys {
		in := &Instance{State: st, ID: id + "[" + strconv.Quote(k) + "]", key: k, Values: map[string]*Memo{"for_each": m},
			Node: -1}
		in.Each = map[string]cty.Value{"key": cty.StringVal(k), "value": vals[i]}
		st.Keys = append(st.Keys, in)
		st.byKey[k] = in
	}
}

// when reports whether an instance or block takes part. ok is false after a diagnostic.
func (ev *Evaluator) when(st *State, each map[string]cty.Value) (on bool, refs []reference, ok bool) {
	a := st.decl.Attributes["when"]
	if a == nil {
		return true, nil, true
	}
	mark := ev.observed.mark()
	v, refs, ok := ev.evalLater(st.Scope, each, a.Expr)
	if !ok {
		return false, nil, false
	}
	if !v.IsKnown() {
		st.unknown = true
		return true, refs, true
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || b.IsNull() {
		ev.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "when must be true or false, and this is %s.",
			diag.One(v.Type().FriendlyName()))
		return false, nil, false
	}
	ev.observed.made(Outcome{Unit: Unit{State: st, Each: each, On: b.True()}}, mark)
	return b.True(), refs, true
}
