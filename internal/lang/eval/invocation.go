package eval

import (
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
)

// maxInvocations is the maximum depth of defined kinds that use each other.
const maxInvocations = 32

// open returns the scope of an invocation of a defined kind, made once.
func (ev *Evaluator) open(in *Instance) *Scope {
	if in.opening {
		ev.Errorf(in.State.decl.Range, "Cyclic values",
			"An attribute of %s depends on an output of the same state. Break the cycle, for example with a local.", in.ID)
		return nil
	}
	if !in.opened {
		mark := ev.observed.mark()
		in.opened, in.opening = true, true
		in.Inner = openInvocation(ev, in)
		in.opening = false
		ev.observed.made(Outcome{Unit: Unit{Inner: in.Inner}}, mark)
	}
	return in.Inner
}

// openInvocation returns the scope of an invocation of a defined kind; nil after a diagnostic.
func openInvocation(ev *Evaluator, in *Instance) *Scope {
	st := in.State
	if st.Scope.depth >= maxInvocations {
		ev.Errorf(st.decl.Range, "Kinds nested too deeply",
			"Defined kinds can use each other at most %d levels deep. Check for a kind that uses itself.", maxInvocations)
		return nil
	}
	s := newScope(ev, st.Define.Body, in.ID+"/", st.decl.Kind+" "+st.decl.Label)
	s.depth, s.Call = st.Scope.depth+1, in
	s.source = st.Scope.source
	s.trace = append([]diag.Range{st.decl.Range}, st.Scope.trace...)
	if st.Define.Stdlib {
		s.Directory, s.fctx = st.Scope.Directory, st.Scope.fctx
		if s.source == "" {
			s.source = sourceOf(st.decl.Range)
		}
	}
	s.Facts = ev.factsOf(s.body)
	s.Vars = map[string]cty.Value{}
	ok := true
	for _, a := range st.kind.Attrs {
		m := ev.Attr(in, a.Name)
		ok = ok && m.OK
		if m.OK {
			s.Vars[a.Name] = m.Value
		}
	}
	s.varObj = cty.ObjectVal(s.Vars)
	if ok && ev.Validate(s) {
		return s
	}
	return nil
}

func sourceOf(r diag.Range) string { return r.File + ":" + strconv.Itoa(r.Start.Line) }
