package lang

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/kind"
)

// result returns the computed attribute of an instance: the output of its command, or an unknown
// value.
func (ev *evaluator) result(in *instance) (cty.Value, bool) {
	a, ok := ev.command(in)
	if !ok {
		return cty.NilVal, false
	}
	ev.asked[in.id] = true
	if text, given := ev.outputs[in.id]; given {
		return cty.StringVal(text), true
	}
	if text, known := ev.in.Outputs[a]; known {
		return cty.StringVal(text), true
	}
	return cty.UnknownVal(cty.String).RefineNotNull(), true
}

// command returns the address of an instance whose output is used. The address is "" if the name of
// the instance is itself unknown.
func (ev *evaluator) command(in *instance) (addr.Addr, bool) {
	s := kind.State{ID: in.id, Kind: in.st.kind.Name, Label: in.st.decl.label, Range: in.st.decl.rng, Attrs: map[string]cty.Value{}}
	for _, a := range in.st.kind.Attrs {
		if a.Computed {
			continue
		}
		m := ev.attr(in, a.Name)
		if !m.ok {
			return "", false
		}
		if m.val.IsWhollyKnown() {
			s.Attrs[a.Name] = m.val
		} else if a.Name == in.st.kind.Main {
			return "", true
		}
	}
	got, ds := in.st.kind.Result(s)
	if ds.HasErrors() {
		ev.add(ev.traced(in.st.scope, ds)...)
		return "", false
	}
	if !slices.Contains(ev.cat.Results, got) {
		ev.cat.Results = append(ev.cat.Results, got)
		slices.Sort(ev.cat.Results)
	}
	return got, true
}

// unknown reports whether only a run decides if the scope exists.
func (s *scope) unknown() bool {
	for ; s.call != nil; s = s.call.st.scope {
		if s.call.st.unknown {
			return true
		}
	}
	return false
}

// needs returns the commands whose output a state waits for. These are the commands to which the
// state refers or, if there are none, the commands to which its invocations refer.
func (ev *evaluator) needs(refs []ref, s *scope) []addr.Addr {
	var out []addr.Addr
	for _, r := range refs {
		if inside := r.inside(); inside != nil {
			for _, m := range inside.outputs {
				if m.ok && m.val != cty.NilVal && !m.val.IsWhollyKnown() {
					out = append(out, ev.needs(m.refs, &scope{})...)
				}
			}
		}
		if r.inst == nil {
			continue
		}
		for name, m := range r.inst.vals {
			if !m.ok || m.val == cty.NilVal || m.val.IsWhollyKnown() {
				continue
			}
			if a := attrOf(r.inst.st.kind, name); a == nil || !a.Computed {
				out = append(out, ev.needs(m.refs, &scope{})...)
			} else if c, ok := ev.command(r.inst); ok && c != "" {
				out = append(out, c)
			}
		}
	}
	if len(out) == 0 && s.call != nil {
		for _, m := range s.call.vals {
			out = append(out, ev.needs(m.refs, &scope{})...)
		}
		if len(out) == 0 {
			return ev.needs(nil, s.call.st.scope)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inside returns the scope whose outputs a reference can name, nil if there is none.
func (r ref) inside() *scope {
	if r.inst != nil {
		return r.inst.inner
	}
	return r.scope
}

// walkUnknown adds a declaration with an unknown number of states to the catalog. One node
// represents all its states.
func (ev *evaluator) walkUnknown(st *state, parent int) {
	m := &memo{}
	_, m.refs, m.ok = ev.evalLater(st.scope, nil, st.decl.attrs["for_each"].Expr)
	n := catalog.Node{ID: st.id(), Parent: parent, Range: st.decl.rng, Trace: st.scope.trace, Kind: st.kind,
		Unknown: true, Needs: ev.needs(m.refs, st.scope)}
	ev.cat.Nodes = append(ev.cat.Nodes, n)
	st.node = len(ev.cat.Nodes) - 1
	ev.depend(st.node, m.refs)
	each := map[string]cty.Value{"key": cty.UnknownVal(cty.String), "value": cty.DynamicVal}
	ev.meta(st, each, ref{state: st}, st.node)
}
