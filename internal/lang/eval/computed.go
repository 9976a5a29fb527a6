package eval

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/kind"
)

// result returns the computed attribute of an instance: the output of its command, or an unknown
// value.
func (ev *Evaluator) result(in *Instance) (cty.Value, bool) {
	a, ok := ev.command(in)
	if !ok {
		return cty.NilVal, false
	}
	ev.asked[in.ID] = true
	if text, given := ev.outputs[in.ID]; given {
		return cty.StringVal(text), true
	}
	if text, known := ev.in.Outputs[a]; known {
		return cty.StringVal(text), true
	}
	return cty.UnknownVal(cty.String).RefineNotNull(), true
}

// command returns the address of an instance whose output is used. The address is "" if the name of
// the instance is itself unknown.
func (ev *Evaluator) command(in *Instance) (addr.Addr, bool) {
	s := kind.State{ID: in.ID, Kind: in.State.kind.Name, Label: in.State.decl.Label, Range: in.State.decl.Range,
		Attrs: map[string]cty.Value{}}
	for _, a := range in.State.kind.Attrs {
		if a.Computed {
			continue
		}
		m := ev.Attr(in, a.Name)
		if !m.OK {
			return "", false
		}
		if m.Value.IsWhollyKnown() {
			s.Attrs[a.Name] = m.Value
		} else if a.Name == in.State.kind.Main {
			return "", true
		}
	}
	got, ds := in.State.kind.Result(s)
	if ds.HasErrors() {
		ev.Add(traced(ev, in.State.Scope, ds)...)
		return "", false
	}
	if !slices.Contains(ev.Catalog.Results, got) {
		ev.Catalog.Results = append(ev.Catalog.Results, got)
		slices.Sort(ev.Catalog.Results)
	}
	return got, true
}

// unknown reports whether only a run decides if the scope exists.
func (s *Scope) unknown() bool {
	for ; s.Call != nil; s = s.Call.State.Scope {
		if s.Call.State.unknown {
			return true
		}
	}
	return false
}

// neededCommands returns the commands whose output a state waits for. These are the commands to which the
// state refers or, if there are none, the commands to which its invocations refer.
func neededCommands(ev *Evaluator, refs []reference, s *Scope) []addr.Addr {
	var out []addr.Addr
	for _, r := range refs {
		if inside := r.inside(); inside != nil {
			for _, m := range inside.Outputs {
				if m.OK && m.Value != cty.NilVal && !m.Value.IsWhollyKnown() {
					out = append(out, neededCommands(ev, m.refs, &Scope{})...)
				}
			}
		}
		if r.instance == nil {
			continue
		}
		for name, m := range r.instance.Values {
			if !m.OK || m.Value == cty.NilVal || m.Value.IsWhollyKnown() {
				continue
			}
			if a := attrOf(r.instance.State.kind, name); a == nil || !a.Computed {
				out = append(out, neededCommands(ev, m.refs, &Scope{})...)
			} else if c, ok := ev.command(r.instance); ok && c != "" {
				out = append(out, c)
			}
		}
	}
	if len(out) == 0 && s.Call != nil {
		for _, m := range s.Call.Values {
			out = append(out, neededCommands(ev, m.refs, &Scope{})...)
		}
		if len(out) == 0 {
			return neededCommands(ev, nil, s.Call.State.Scope)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inside returns the scope whose outputs a reference can name, nil if there is none.
func (r reference) inside() *Scope {
	if r.instance != nil {
		return r.instance.Inner
	}
	return r.scope
}
