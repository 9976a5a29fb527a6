package incremental

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// model is an evaluated target from which the catalogs of similar targets are made.
type model struct {
	ev     *eval.Evaluator
	trail  *trail
	states []*eval.Instance // with attributes that depend on the target
	nodes  []int            // of the states
	scopes []*eval.Scope    // of modules with variables of the target's own
}

// Shared is a catalog, or its difference from another catalog.
type Shared struct {
	// Catalog is the catalog of the target, nil if it is given as a difference.
	Catalog *catalog.Catalog
	// Like is an earlier catalog. The target's nodes are the same, except for Changed, whose states
	// are States. If Catalog is set, Like is nil or equals Catalog: then it can be the base of
	// other catalogs.
	Like    *catalog.Catalog
	Changed []int
	States  []kind.State
	// From is parallel to Changed. It has the place of each state that is the same in the catalog
	// of this target at the previous revision, -1 for other states. nil if there is no such
	// catalog. See Revisions.
	From []int

	model *model
}

// pairedRevisions are two models of one class of targets, one of each revision. They record the states that
// depend on the target in the same way in both. The modules of these states have the same reads and
// variables, and apart from the target the same results. They refer only to such modules.
type pairedRevisions struct {
	scopes map[*eval.Scope]*eval.Scope // such modules of the second, with their counterparts in the first
	states []int                       // by state of the second: its place in the first, or -1
	again  []eval.Unit                 // of the second, in other modules
	dirty  int                         // how many directories had a change when this was computed
}

// twin is a pair of models applied to one target, with its catalog at the first revision.
type twin struct {
	*pairedRevisions
	was Shared
}

// alike reports whether the target and its environment have the same values at the first revision. The values of the
// target at the second one are given, because the evaluator can still have the values of another target.
func (w *twin) alike(ev *eval.Evaluator, target cty.Value) bool {
	was := w.was.model.ev
	return was.Target.RawEquals(target) && was.Environment.RawEquals(ev.Environment)
}

// from returns the place of the same state at the first revision, -1 if there is none.
func (w *twin) from(i int) int {
	if w == nil {
		return -1
	}
	return w.states[i]
}

// units returns the units to decide for a target of the model.
func (w *twin) units(m *model) []eval.Unit {
	if w == nil {
		return m.trail.units
	}
	return w.again
}

// sameVars reports whether a module is the same in both revisions, after its variables were
// evaluated for the target. ok is false if variables of such a module differ: nothing can then be
// reused for this target.
func (w *twin) sameVars(s *eval.Scope, own map[string]bool) (same, ok bool) {
	if w == nil || w.scopes[s] == nil {
		return false, true
	}
	old := w.scopes[s]
	for name := range own {
		if !sameValue(s.Vars[name], old.Vars[name]) {
			return false, false
		}
	}
	return true, true
}

// newModel finds the states that depend on the target.
func newModel(ev *eval.Evaluator, tr *trail) *model {
	m := &model{ev: ev, trail: tr}
	for _, s := range ev.All {
		if len(tr.own[s]) > 0 {
			m.scopes = append(m.scopes, s)
		}
		m.find(s.Order)
	}
	tr.again = true
	return m
}

func (m *model) find(list []*eval.State) {
	for _, st := range list {
		m.find(st.Members)
		for _, in := range st.Keys {
			if in.Inner != nil {
				m.find(in.Inner.Order)
			}
			if in.Node < 0 || st.Define != nil {
				continue
			}
			for n, v := range in.Values {
				if v.Own && n != "for_each" {
					m.states, m.nodes = append(m.states, in), append(m.nodes, in.Node)
					break
				}
			}
		}
	}
}

// make evaluates everything that depends on the target.
func (m *model) make(t *source.Target, levels []*source.Level, in eval.Input) (Shared, bool) {
	return m.makeBeside(t, levels, in, nil)
}

// makeBeside is like make, but reuses equal parts of a twin; nil has none.
func (m *model) makeBeside(t *source.Target, levels []*source.Level, in eval.Input, w *twin) (Shared, bool) {
	ev := m.ev
	if m.trail.broken {
		return Shared{}, false
	}
	old := ev.Catalog
	r := &syntax.Reports{}
	labels := query.TargetLabels(ev.Program, r, t)
	value := query.TargetValue(t.Name, labels, levels)
	if len(r.List) > 0 || w != nil && !w.alike(ev, value) || !m.again(t, in, value, w) {
		return Shared{}, false
	}
	out := Shared{Like: old, Changed: m.nodes, States: make([]kind.State, len(m.nodes)), model: m}
	for i, inst := range m.states {
		if from := w.from(i); from >= 0 {
			out.States[i] = w.was.States[from]
			continue
		}
		out.States[i] = old.Nodes[m.nodes[i]].State
		out.States[i].Attrs = m.attrs(inst, out.States[i])
	}
	if w != nil {
		out.From = w.states
	}
	return out, !m.trail.broken
}

// again evaluates the parts that depend on the target for another target, except the parts that the
// twin provides.
func (m *model) again(t *source.Target, in eval.Input, value cty.Value, w *twin) bool {
	ev := m.ev
	ev.Restart(in, value)
	for _, memo := range m.trail.memos {
		memo.Done = false
	}
	own, ok := eval.LayerOf(ev, t.String(), t.Vars, t.Each)
	if !ok || !m.vars(own, w) {
		return false
	}
	for _, u := range w.units(m) {
		if !ev.Repeat(u) {
			return false
		}
	}
	for i, inst := range m.states {
		for n, memo := range inst.Values {
			if memo.Own && n != "for_each" && w.from(i) < 0 && !ev.Attr(inst, n).OK {
				return false
			}
		}
	}
	return len(ev.List) == 0
}

// vars assigns the variables of modules that depend on the target.
func (m *model) vars(own eval.VariableLayer, w *twin) bool {
	ev := m.ev
	for _, s := range m.scopes {
		if !ev.Reassign(s, own, m.trail.own[s]) {
			return false
		}
		if same, ok := w.sameVars(s, m.trail.own[s]); !ok || !same && !ev.Validate(s) {
			return false
		}
	}
	return true
}

// attrs returns the attributes of a state, with new values for attributes that depend on the
// target.
func (m *model) attrs(in *eval.Instance, was kind.State) map[string]cty.Value {
	out := maps.Clone(was.Attrs)
	for n, memo := range in.Values {
		if _, ok := out[n]; ok && memo.Own {
			out[n] = memo.Value
		}
	}
	return out
}
