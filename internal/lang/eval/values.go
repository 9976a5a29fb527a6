package eval

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/syntax"
)

// begin guards a memo against cycles. It returns false if the memo is already evaluated, or cannot
// be.
func (ev *Evaluator) begin(m *Memo, name string, rng diag.Range) bool {
	if m.Done {
		if m.Own {
			ev.observed.read(Reading{})
		}
		return false
	}
	if m.busy {
		ev.circle(m, name)
		return false
	}
	m.busy = true
	ev.stack = append(ev.stack, frame{m, name, rng, ev.observed.mark()})
	return true
}

func (ev *Evaluator) end(m *Memo) {
	m.busy, m.Done = false, true
	ev.observed.made(Outcome{Memo: m}, ev.stack[len(ev.stack)-1].mark)
	ev.stack = ev.stack[:len(ev.stack)-1]
}

// circle reports a cycle of values, each with its position.
func (ev *Evaluator) circle(m *Memo, name string) {
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
	ev.Add(d)
}

// local evaluates a local, once.
func (ev *Evaluator) local(s *Scope, name string) *Memo {
	m := s.Locals[name]
	if m == nil {
		m = &Memo{}
		s.Locals[name] = m
	}
	a := s.body.Locals[name]
	if !ev.begin(m, s.Prefix+"local."+name, syntax.RangeOf(a.Expr.Range())) {
		return m
	}
	defer ev.end(m)
	m.Value, m.refs, m.OK = ev.evalAny(s, nil, a.Expr)
	return m
}

// Attr evaluates an attribute of an instance, once. The value is the given value, or the label for
// the main attribute, or the default, or null.
func (ev *Evaluator) Attr(in *Instance, name string) *Memo {
	m := in.Values[name]
	if m == nil {
		m = &Memo{}
		in.Values[name] = m
	}
	st := in.State
	rng := st.decl.Range
	given := st.decl.Attributes[name]
	if given != nil {
		rng = syntax.RangeOf(given.Expr.Range())
	}
	if !ev.begin(m, in.ID+"."+name, rng) {
		return m
	}
	defer ev.end(m)
	var v cty.Value
	switch a := attrOf(st.kind, name); {
	case a.Computed:
		m.Value, m.OK = ev.result(in)
		return m
	case given != nil:
		v, m.refs, m.OK = ev.evalAny(st.Scope, in.Each, given.Expr)
	default:
		if v, m.OK = ofAccount(ev, in, m, name); !m.OK {
			v, m.OK = absentAttr(ev, in, a)
		}
	}
	if m.OK {
		m.Value, m.OK = fitValue(ev, in, attrOf(st.kind, name), v, rng)
	}
	return m
}

// absentAttr returns the value of an omitted attribute.
func absentAttr(ev *Evaluator, in *Instance, a *kind.Attr) (cty.Value, bool) {
	st := in.State
	switch {
	case st.kind.Main == a.Name:
		return cty.StringVal(ev.name(st)), true
	case st.Define != nil:
		return variableDefault(ev, st.Define.Body, st.Define.Body.Vars[a.Name])
	case a.Default != cty.NilVal:
		return a.Default, true
	}
	return cty.NullVal(a.Type), true
}

// fitValue converts a value to its attribute's type and checks its rules.
func fitValue(ev *Evaluator, in *Instance, a *kind.Attr, v cty.Value, rng diag.Range) (cty.Value, bool) {
	st := in.State
	if st.Define != nil {
		if vr := st.Define.Body.Vars[a.Name]; vr.Defaults != nil && !v.IsNull() {
			v = vr.Defaults.Apply(v)
		}
	}
	out, err := convert.Convert(v, a.Type)
	if err != nil {
		ev.errorIn(st.Scope, rng, "Wrong type", "%s of %s must be %s, and this is %s.%s", a.Name, diag.One(st.kind.Name),
			diag.One(a.Type.FriendlyName()), diag.One(v.Type().FriendlyName()), why(err))
		return cty.NilVal, false
	}
	if !out.IsWhollyKnown() {
		return out, true
	}
	if out.IsNull() {
		if a.Required && st.Define == nil || a.Required && st.decl.Attributes[a.Name] == nil {
			ev.errorIn(st.Scope, rng, "Missing attribute", "%s needs %s.%s", diag.FirstOne(st.kind.Name), a.Name, docHint(a))
			return cty.NilVal, false
		}
		if st.Define == nil && a.Default != cty.NilVal {
			return a.Default, true
		}
		return out, true
	}
	if out.ContainsMarked() {
		if st.Define != nil || a.Secret {
			return out, true
		}
		ev.Add(traced(ev, st.Scope, diag.List{outOfPlace(rng, a.Name+" of "+diag.One(st.kind.Name))})...)
		return cty.NilVal, false
	}
	if len(a.OneOf) > 0 && a.Type == cty.String && !slices.Contains(a.OneOf, out.AsString()) {
		ev.errorIn(st.Scope, rng, "Unknown value", "%s must be one of %s, and this is %q.%s", a.Name,
			strings.Join(a.OneOf, ", "), out.AsString(), syntax.Near(out.AsString(), a.OneOf))
		return cty.NilVal, false
	}
	if a.Check != nil {
		if err := a.Check(out); err != nil {
			ev.errorIn(st.Scope, rng, "Bad value", "%s", syntax.Sentence(err))
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

// wholeState returns a state as an object of its attributes.
func wholeState(ev *Evaluator, in *Instance) (cty.Value, bool) {
	vals := map[string]cty.Value{}
	for _, a := range in.State.kind.Attrs {
		if a.Computed && in.State.decl.Attributes["output"] == nil {
			continue
		}
		m := ev.Attr(in, a.Name)
		if !m.OK {
			return cty.NilVal, false
		}
		vals[a.Name] = m.Value
	}
	if len(in.State.kind.Outputs) > 0 {
		s := ev.open(in)
		if s == nil || !outputsInto(ev, vals, s) {
			return cty.NilVal, false
		}
	}
	return cty.ObjectVal(vals), true
}
