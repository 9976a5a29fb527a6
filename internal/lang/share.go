package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// Sharing makes the catalogs of many targets. Targets with the same roles, groups and modules
// differ only in their names and their own blocks. The first such target is evaluated as a whole;
// for the next, only the dependent parts are evaluated. If the difference is larger, the whole
// target is evaluated, so a catalog always equals the result of Program.Catalog. Sharing is not
// safe for concurrent use.
type Sharing struct {
	prog    *Program
	targets map[string]*target
	classes map[string][]*model
	order   []string             // of the classes, the oldest first
	facts   map[string]cty.Value // of the last call
	factsID int
}

// The limits of the cache: classes, and models of one class.
const (
	maxClasses = 64
	maxModels  = 4
)

// model is an evaluated target from which the catalogs of similar targets are made.
type model struct {
	ev     *evaluator
	states []*instance // with attributes that depend on the target
	nodes  []int       // of the states
	scopes []*scope    // of modules with variables of the target's own
}

// Share returns a Sharing for the program.
func (p *Program) Share() *Sharing {
	s := &Sharing{prog: p, targets: map[string]*target{}, classes: map[string][]*model{}}
	for _, t := range p.targets {
		s.targets[t.name] = t
	}
	return s
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

// Catalog returns the same result as Program.Catalog. The result is shared and read-only.
func (s *Sharing) Catalog(in Input) (Shared, diag.List) { return s.catalog(in, (*model).make) }

// maker returns the catalog of another target of a model's class. ok is false if more than
// attributes differs, or after an error. The whole target must then be evaluated.
type maker func(m *model, t *target, levels []*level, in Input) (out Shared, ok bool)

func (s *Sharing) catalog(in Input, make maker) (Shared, diag.List) {
	t := s.targets[in.Target]
	if t == nil || in.Test != nil || len(in.Outputs) > 0 || t.data != nil || t.merge != nil || t.policy != nil || t.layer != nil || len(t.uses) > 0 {
		c, ds := s.prog.Catalog(in)
		return Shared{Catalog: c}, ds
	}
	r := &reports{}
	levels := s.prog.levels(r, t)
	key := s.class(t, levels, in)
	if len(r.list) == 0 {
		for _, m := range s.classes[key] {
			if out, ok := make(m, t, levels, in); ok {
				return out, nil
			}
		}
	}
	tr := &trail{own: map[*scope]map[string]bool{}, given: ownNames(t), links: map[[2]*scope]bool{}}
	c, ev, ds := s.prog.catalog(in, tr)
	out := Shared{Catalog: c}
	if ev != nil && len(ds) == 0 && !tr.broken && plainStates(c) {
		s.keep(key, newModel(ev))
		out.Like = c
	}
	return out, ds
}

// plainStates reports whether a catalog is complete: no state waits for a run, and no program
// generated a state.
func plainStates(c *catalog.Catalog) bool {
	return len(c.Results) == 0 && !slices.ContainsFunc(c.Nodes, func(n catalog.Node) bool { return n.Unknown || n.Kind != nil && n.Kind.Expand != nil })
}

func (s *Sharing) keep(key string, m *model) {
	if len(s.classes[key]) == 0 {
		s.order = append(s.order, key)
	}
	if len(s.order) > maxClasses {
		delete(s.classes, s.order[0])
		s.order = s.order[1:]
	}
	all := append(s.classes[key], m)
	s.classes[key] = all[max(0, len(all)-maxModels):]
}

// class returns a text that identifies everything a target has in common with other targets: the
// same levels below it, the same lists of modules and roles, and the same facts. Labels that select
// no group do not matter.
func (s *Sharing) class(t *target, levels []*level, in Input) string {
	var b strings.Builder
	for _, l := range levels[:len(levels)-1] {
		fmt.Fprintf(&b, "%p ", l)
	}
	r := &reports{}
	for _, u := range s.prog.levelModules(r, &t.level) {
		fmt.Fprintf(&b, "%q ", u.name)
	}
	fmt.Fprintf(&b, "|%q|%q|", slices.Sorted(maps.Keys(ownNames(t))), slices.Sorted(maps.Keys(in.Vars)))
	for _, name := range slices.Sorted(maps.Keys(in.Vars)) {
		fmt.Fprintf(&b, "%q ", in.Vars[name])
	}
	if !maps.EqualFunc(s.facts, in.Facts, func(a, b cty.Value) bool { return a.RawEquals(b) }) {
		s.facts, s.factsID = maps.Clone(in.Facts), s.factsID+1
	}
	fmt.Fprintf(&b, "|%d", s.factsID)
	return b.String()
}

// ownNames returns the variables that a target itself sets.
func ownNames(t *target) map[string]bool {
	out := map[string]bool{}
	if t.vars == nil {
		return out
	}
	items, hds := hcl.ExprMap(t.vars.Expr)
	if hds.HasErrors() {
		return out
	}
	for _, it := range items {
		if k, kds := it.Key.Value(nil); !kds.HasErrors() && k.Type() == cty.String && !k.IsNull() {
			out[k.AsString()] = true
		}
	}
	return out
}

// newModel finds the states that depend on the target.
func newModel(ev *evaluator) *model {
	m := &model{ev: ev}
	for _, s := range ev.all {
		if len(ev.trail.own[s]) > 0 {
			m.scopes = append(m.scopes, s)
		}
		m.find(s.order)
	}
	ev.trail.again = true
	return m
}

func (m *model) find(list []*state) {
	for _, st := range list {
		m.find(st.members)
		for _, in := range st.keys {
			if in.inner != nil {
				m.find(in.inner.order)
			}
			if in.node < 0 || st.def != nil {
				continue
			}
			for n, v := range in.vals {
				if v.own && n != "for_each" {
					m.states, m.nodes = append(m.states, in), append(m.nodes, in.node)
					break
				}
			}
		}
	}
}

// make evaluates everything that depends on the target.
func (m *model) make(t *target, levels []*level, in Input) (Shared, bool) {
	return m.makeBeside(t, levels, in, nil)
}

// makeBeside is like make, but reuses equal parts of a twin; nil has none.
func (m *model) makeBeside(t *target, levels []*level, in Input, w *twin) (Shared, bool) {
	ev := m.ev
	if ev.trail.broken {
		return Shared{}, false
	}
	old := ev.cat
	r := &reports{}
	labels := ev.prog.targetLabels(r, t)
	value := targetValue(t.name, labels, levels)
	if len(r.list) > 0 || w != nil && !w.was.model.ev.target.RawEquals(value) || !m.again(t, in, value, w) {
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
	return out, !ev.trail.broken
}

// again evaluates the parts that depend on the target for another target, except the parts that the
// twin provides.
func (m *model) again(t *target, in Input, value cty.Value, w *twin) bool {
	ev := m.ev
	ev.reports, ev.in, ev.target = reports{}, in, value
	for _, memo := range ev.trail.memos {
		memo.done = false
	}
	own, ok := ev.layerOf(t.String(), t.vars)
	if !ok || !m.vars(own, w) {
		return false
	}
	for _, u := range w.units(m) {
		if !ev.sameUnit(u) {
			return false
		}
	}
	for i, inst := range m.states {
		for n, memo := range inst.vals {
			if memo.own && n != "for_each" && w.from(i) < 0 && !ev.attr(inst, n).ok {
				return false
			}
		}
	}
	return len(ev.list) == 0
}

// vars assigns the variables of modules that depend on the target.
func (m *model) vars(own layer, w *twin) bool {
	ev := m.ev
	for _, s := range m.scopes {
		layers := slices.Clone(s.layers)
		for i, l := range layers {
			if l.name == own.name {
				layers[i] = own
			}
		}
		s.layers, s.vars = layers, maps.Clone(s.vars)
		for name := range ev.trail.own[s] {
			v := s.body.vars[name]
			val, rng, ok := ev.given(s, v, layers)
			if ok {
				val, ok = ev.convertVar(v, val, rng)
			}
			if !ok {
				return false
			}
			s.vars[name] = val
		}
		s.varObj = cty.ObjectVal(s.vars)
		if same, ok := w.sameVars(s, ev.trail.own[s]); !ok || !same && !ev.validate(s) {
			return false
		}
	}
	return true
}

// sameUnit repeats a decision, and reports whether the result is the same. The inside of an
// invocation gets its variables.
func (ev *evaluator) sameUnit(u unit) bool {
	switch {
	case u.inner != nil:
		vars := maps.Clone(u.inner.vars)
		for n := range vars {
			memo := ev.attr(u.inner.call, n)
			if !memo.ok {
				return false
			}
			vars[n] = memo.val
		}
		u.inner.vars, u.inner.varObj = vars, cty.ObjectVal(vars)
		return ev.validate(u.inner)
	case u.every != nil:
		v, _, ok := ev.eval(u.st.scope, nil, u.st.decl.attrs["for_each"].Expr)
		u.every.done = true
		return ok && v.Type().Equals(u.value.Type()) && v.RawEquals(u.value)
	}
	on, _, ok := ev.when(u.st, u.each)
	return ok && on == u.on
}

// attrs returns the attributes of a state, with new values for attributes that depend on the
// target.
func (m *model) attrs(in *instance, was kind.State) map[string]cty.Value {
	out := maps.Clone(was.Attrs)
	for n, memo := range in.vals {
		if _, ok := out[n]; ok && memo.own {
			out[n] = memo.val
		}
	}
	return out
}
