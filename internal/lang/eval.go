package lang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

func itoa(n int) string { return strconv.Itoa(n) }

// eval evaluates an expression of a scope. The value must be known and must not depend on a secret.
// eval also returns the references of the expression. ok is false after a diagnostic, here or at
// the origin of the value.
func (ev *evaluator) eval(s *scope, each map[string]cty.Value, e hclsyntax.Expression) (cty.Value, []ref, bool) {
	v, refs, ok := ev.evalLater(s, each, e)
	return v, refs, ok && ev.mustKnow(e, v)
}

// mustKnow reports a value that only a run provides.
func (ev *evaluator) mustKnow(e hclsyntax.Expression, v cty.Value) bool {
	if v.IsWhollyKnown() {
		return true
	}
	ev.errorf(rangeOf(e.Range()), "Value is not known",
		"The value depends on the result of a run, such as the output of a command. This attribute needs a value that is known before the run.")
	return false
}

// evalSecret is like eval, but the value can depend on a secret and then carries its mark.
func (ev *evaluator) evalSecret(s *scope, each map[string]cty.Value, e hclsyntax.Expression) (cty.Value, []ref, bool) {
	v, refs, ok := ev.evalAny(s, each, e)
	return v, refs, ok && ev.mustKnow(e, v)
}

// evalLater is like eval, but also accepts a value that only a run provides.
func (ev *evaluator) evalLater(s *scope, each map[string]cty.Value, e hclsyntax.Expression) (cty.Value, []ref, bool) {
	v, refs, ok := ev.evalAny(s, each, e)
	if ok && v.ContainsMarked() {
		ev.add(ev.traced(s, diag.List{outOfPlace(rangeOf(e.Range()), "the set of states")})...)
		return cty.NilVal, nil, false
	}
	return v, refs, ok
}

// evalAny is like eval, but also accepts a value that only a run provides, or that depends on a
// secret. A secret value carries its mark.
func (ev *evaluator) evalAny(s *scope, each map[string]cty.Value, e hclsyntax.Expression) (cty.Value, []ref, bool) {
	traversals := ev.prog.namesIn(e)
	ctx := s.fctx
	var refs []ref
	if len(traversals) > 0 {
		vars, found, ok := ev.variables(s, each, traversals)
		if !ok {
			return cty.NilVal, nil, false
		}
		refs = found
		ctx = s.fctx.NewChild()
		ctx.Variables = vars
	}
	ev.prog.working(rangeOf(e.Range()))
	v, ok := ev.compute(s, e, ctx)
	if !ok {
		return cty.NilVal, nil, false
	}
	if plain, _ := v.Unmark(); plain.Type() == cty.String && plain.IsKnown() && !plain.IsNull() && len(plain.AsString()) > maxText {
		ev.errorf(rangeOf(e.Range()), "Text too long", "The text has %d bytes; the limit is 16 MiB. Use a file with source.", len(plain.AsString()))
		return cty.NilVal, nil, false
	}
	return v, refs, true
}

// traced adds the use of the kind to each diagnostic, if the scope is inside a defined kind.
func (ev *evaluator) traced(s *scope, ds diag.List) diag.List {
	for i := range ds {
		ds[i] = ds[i].UsedAt(s.trace)
	}
	return ds
}

// begin guards a memo against cycles. It returns false if the memo is already evaluated, or cannot
// be.
func (ev *evaluator) begin(m *memo, name string, rng diag.Range) bool {
	if m.done {
		ev.readMemo(m)
		return false
	}
	if m.busy {
		ev.circle(m, name)
		return false
	}
	m.busy = true
	ev.stack = append(ev.stack, frame{m, name, rng, ev.mark()})
	return true
}

func (ev *evaluator) end(m *memo) {
	m.busy, m.done = false, true
	ev.madeMemo(m, ev.stack[len(ev.stack)-1].mark)
	ev.stack = ev.stack[:len(ev.stack)-1]
}

// circle reports a cycle of values, each with its position.
func (ev *evaluator) circle(m *memo, name string) {
	at := slices.IndexFunc(ev.stack, func(f frame) bool { return f.memo == m })
	var hops []string
	for _, f := range ev.stack[at:] {
		hops = append(hops, f.name+" ("+f.rng.String()+")")
	}
	hops = append(hops, name)
	d := diag.Errorf(ev.stack[at].rng, "Cyclic values",
		"Each of these values depends on the next: %s. Break the cycle, for example with a local.", strings.Join(hops, " → "))
	for _, f := range ev.stack[at+1:] {
		d.Trace = append(d.Trace, f.rng)
	}
	ev.add(d)
}

// local evaluates a local, once.
func (ev *evaluator) local(s *scope, name string) *memo {
	m := s.locals[name]
	if m == nil {
		m = &memo{}
		s.locals[name] = m
	}
	a := s.body.locals[name]
	if !ev.begin(m, s.prefix+"local."+name, rangeOf(a.Expr.Range())) {
		return m
	}
	defer ev.end(m)
	m.val, m.refs, m.ok = ev.evalAny(s, nil, a.Expr)
	return m
}

// attr evaluates an attribute of an instance, once. The value is the given value, or the label for
// the main attribute, or the default, or null.
func (ev *evaluator) attr(in *instance, name string) *memo {
	m := in.vals[name]
	if m == nil {
		m = &memo{}
		in.vals[name] = m
	}
	st := in.st
	rng := st.decl.rng
	given := st.decl.attrs[name]
	if given != nil {
		rng = rangeOf(given.Expr.Range())
	}
	if !ev.begin(m, in.id+"."+name, rng) {
		return m
	}
	defer ev.end(m)
	var v cty.Value
	switch a := attrOf(st.kind, name); {
	case a.Computed:
		m.val, m.ok = ev.result(in)
		return m
	case given != nil:
		v, m.refs, m.ok = ev.evalAny(st.scope, in.each, given.Expr)
	default:
		if v, m.ok = ev.ofAccount(in, m, name); !m.ok {
			v, m.ok = ev.absentAttr(in, a)
		}
	}
	if m.ok {
		m.val, m.ok = ev.fit(in, attrOf(st.kind, name), v, rng)
	}
	return m
}

// absentAttr returns the value of an omitted attribute.
func (ev *evaluator) absentAttr(in *instance, a *kind.Attr) (cty.Value, bool) {
	st := in.st
	switch {
	case st.kind.Main == a.Name:
		return cty.StringVal(ev.name(st)), true
	case st.def != nil:
		return ev.variableDefault(st.def.body, st.def.body.vars[a.Name])
	case a.Default != cty.NilVal:
		return a.Default, true
	}
	return cty.NullVal(a.Type), true
}

// fit converts a value to its attribute's type and checks its rules.
func (ev *evaluator) fit(in *instance, a *kind.Attr, v cty.Value, rng diag.Range) (cty.Value, bool) {
	st := in.st
	if st.def != nil {
		if vr := st.def.body.vars[a.Name]; vr.defaults != nil && !v.IsNull() {
			v = vr.defaults.Apply(v)
		}
	}
	out, err := convert.Convert(v, a.Type)
	if err != nil {
		ev.errorIn(st.scope, rng, "Wrong type", "%s of %s must be %s, and this is %s.%s", a.Name, diag.One(st.kind.Name), diag.One(a.Type.FriendlyName()), diag.One(v.Type().FriendlyName()), why(err))
		return cty.NilVal, false
	}
	if !out.IsWhollyKnown() {
		return out, true
	}
	if out.IsNull() {
		if a.Required && st.def == nil || a.Required && st.decl.attrs[a.Name] == nil {
			ev.errorIn(st.scope, rng, "Missing attribute", "%s needs %s.%s", diag.FirstOne(st.kind.Name), a.Name, docHint(a))
			return cty.NilVal, false
		}
		if st.def == nil && a.Default != cty.NilVal {
			return a.Default, true
		}
		return out, true
	}
	if out.ContainsMarked() {
		if st.def != nil || a.Secret {
			return out, true
		}
		ev.add(ev.traced(st.scope, diag.List{outOfPlace(rng, a.Name+" of "+diag.One(st.kind.Name))})...)
		return cty.NilVal, false
	}
	if len(a.OneOf) > 0 && a.Type == cty.String && !slices.Contains(a.OneOf, out.AsString()) {
		ev.errorIn(st.scope, rng, "Unknown value", "%s must be one of %s, and this is %q.%s", a.Name, strings.Join(a.OneOf, ", "), out.AsString(), Near(out.AsString(), a.OneOf))
		return cty.NilVal, false
	}
	if a.Check != nil {
		if err := a.Check(out); err != nil {
			ev.errorIn(st.scope, rng, "Bad value", "%s", sentence(err))
			return cty.NilVal, false
		}
	}
	return out, true
}

func docHint(a *kind.Attr) string {
	if a.Doc == "" {
		return ""
	}
	return " Meaning: " + strings.TrimRight(a.Doc, ".") + "."
}

// why returns the detail of a failed conversion if it has more information than the types.
func why(err error) string {
	if s := err.Error(); strings.Contains(s, ":") || strings.Contains(s, "element") || strings.Contains(s, "attribute") {
		return " " + sentence(err)
	}
	return ""
}

// wholeState returns a state as an object of its attributes.
func (ev *evaluator) wholeState(in *instance) (cty.Value, bool) {
	vals := map[string]cty.Value{}
	for _, a := range in.st.kind.Attrs {
		if a.Computed && in.st.decl.attrs["output"] == nil {
			continue
		}
		m := ev.attr(in, a.Name)
		if !m.ok {
			return cty.NilVal, false
		}
		vals[a.Name] = m.val
	}
	if len(in.st.kind.Outputs) > 0 {
		s := ev.open(in)
		if s == nil || !ev.outputsInto(vals, s) {
			return cty.NilVal, false
		}
	}
	return cty.ObjectVal(vals), true
}

// eachValue returns the object each for the expressions of a state with for_each.
func eachValue(each map[string]cty.Value) cty.Value { return cty.ObjectVal(each) }

// id returns the unique name of a state, with the prefix of its module.
func (st *state) id() string { return st.scope.prefix + refName(st.decl.kind, st.decl.label) }

// refName returns KIND.LABEL. The label is in brackets if it is not an identifier.
func refName(kindName, label string) string {
	if identifier(label) {
		return kindName + "." + label
	}
	return kindName + "[" + strconv.Quote(label) + "]"
}

// expand finds the instances of a state.
func (ev *evaluator) expand(st *state) {
	if st.expanded {
		return
	}
	st.expanded = true
	st.byKey = map[string]*instance{}
	a := st.decl.attrs["for_each"]
	id := st.id()
	if a == nil {
		st.keys = []*instance{{st: st, id: id, vals: map[string]*memo{}, node: -1}}
		return
	}
	st.each = true
	m := &memo{}
	if !ev.begin(m, id+".for_each", rangeOf(a.Expr.Range())) {
		return
	}
	defer ev.end(m)
	v, refs, ok := ev.evalLater(st.scope, nil, a.Expr)
	st.bad = !ok
	if !ok {
		return
	}
	m.refs = refs
	if !v.IsKnown() {
		st.unknown = true
		return
	}
	ev.decided(unit{st: st, every: m, value: v}, ev.stack[len(ev.stack)-1].mark)
	if n := v.Type(); !v.IsNull() && (n.IsCollectionType() || n.IsObjectType()) && v.LengthInt() > catalog.MaxStates {
		ev.errorf(rangeOf(a.Expr.Range()), "Too many states",
			"for_each makes %d states, and the limit is %d. Distribute the states over several targets.", v.LengthInt(), catalog.MaxStates)
		st.bad = true
		return
	}
	keys, vals, good := ev.forEach(a, v)
	st.bad = !good
	for i, k := range keys {
		in := &instance{st: st, id: id + "[" + strconv.Quote(k) + "]", key: k, vals: map[string]*memo{"for_each": m}, node: -1}
		in.each = map[string]cty.Value{"key": cty.StringVal(k), "value": vals[i]}
		st.keys = append(st.keys, in)
		st.byKey[k] = in
	}
}

// forEach returns the keys, sorted, and their values.
func (ev *evaluator) forEach(a *hclsyntax.Attribute, v cty.Value) (keys []string, vals []cty.Value, ok bool) {
	rng := rangeOf(a.Expr.Range())
	ty := v.Type()
	switch {
	case v.IsNull():
		ev.errorf(rng, "Bad for_each", "for_each is null. If there are no elements, use an empty set: toset([]).")
		return nil, nil, false
	case ty.IsListType() || ty.IsTupleType():
		ev.errorf(rng, "Bad for_each", "for_each must be a set or a map, because each state needs a unique key. Write toset(…).")
		return nil, nil, false
	case ty.IsSetType():
		return ev.forEachSet(rng, v)
	case ty.IsMapType() || ty.IsObjectType():
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			keys, vals = append(keys, k.AsString()), append(vals, e)
		}
		return keys, vals, true
	}
	ev.errorf(rng, "Bad for_each", "for_each must be a set of strings or a map, and this is %s.", diag.One(ty.FriendlyName()))
	return nil, nil, false
}

func (ev *evaluator) forEachSet(rng diag.Range, v cty.Value) (keys []string, vals []cty.Value, ok bool) {
	set, err := convert.Convert(v, cty.Set(cty.String))
	if err != nil {
		ev.errorf(rng, "Bad for_each", "A set for for_each must contain strings. For other values use a map.")
		return nil, nil, false
	}
	for it := set.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() {
			ev.errorf(rng, "Bad for_each", "The set contains null. Remove the element.")
			return nil, nil, false
		}
		keys, vals = append(keys, e.AsString()), append(vals, e)
	}
	return keys, vals, true
}

// when reports whether an instance or block takes part. ok is false after a diagnostic.
func (ev *evaluator) when(st *state, each map[string]cty.Value) (on bool, refs []ref, ok bool) {
	a := st.decl.attrs["when"]
	if a == nil {
		return true, nil, true
	}
	mark := ev.mark()
	v, refs, ok := ev.evalLater(st.scope, each, a.Expr)
	if !ok {
		return false, nil, false
	}
	if !v.IsKnown() {
		st.unknown = true
		return true, refs, true
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || b.IsNull() {
		ev.errorf(rangeOf(a.Expr.Range()), "Wrong type", "when must be true or false, and this is %s.", diag.One(v.Type().FriendlyName()))
		return false, nil, false
	}
	ev.decided(unit{st: st, each: each, on: b.True()}, mark)
	return b.True(), refs, true
}

func identifier(s string) bool { return hclsyntax.ValidIdentifier(s) }
