package eval

import (
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// standsFor returns the expansion of a state, and makes its node a group. It returns nil for a
// state that compiles to steps. Results that are recorded in the repository cannot depend on a
// value that only a run provides.
func standsFor(ev *Evaluator, st *State, n *catalog.Node, unknown bool) (*kind.Expansion, bool) {
	if st.kind.Expand == nil {
		return nil, true
	}
	if unknown {
		ev.Errorf(st.decl.Range, "Value is not known",
			"The result of %s is recorded in the repository, so its attributes must be known before the run. "+
				"This one depends on the result of a run.", diag.One(st.kind.Name))
		return nil, false
	}
	x, ds := st.kind.Expand(n.State)
	ev.Add(traced(ev, st.Scope, ds)...)
	n.Group = x != nil || ds.HasErrors()
	return x, true
}
