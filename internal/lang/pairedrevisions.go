package lang

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// twins are two models of one class of targets, one of each revision. They record the states that
// depend on the target in the same way in both. The modules of these states have the same reads and
// variables, and apart from the target the same results. They refer only to such modules.
type pairedRevisions struct {
	scopes map[*scope]*scope // such modules of the second, with their counterparts in the first
	states []int             // by state of the second: its place in the first, or -1
	again  []unit            // of the second, in other modules
	dirty  int               // how many directories had a change when this was computed
}

// twin is a pair of models applied to one target, with its catalog at the first revision.
type twin struct {
	*pairedRevisions
	was Shared
}

// from returns the place of the same state at the first revision, -1 if there is none.
func (w *twin) from(i int) int {
	if w == nil {
		return -1
	}
	return w.states[i]
}

// units returns the units to decide for a target of the model.
func (w *twin) units(m *model) []unit {
	if w == nil {
		return m.ev.trail.units
	}
	return w.again
}

// sameVars reports whether a module is the same in both revisions, after its variables were
// evaluated for the target. ok is false if variables of such a module differ: nothing can then be
// reused for this target.
func (w *twin) sameVars(s *scope, own map[string]bool) (same, ok bool) {
	if w == nil || w.scopes[s] == nil {
		return false, true
	}
	old := w.scopes[s]
	for name := range own {
		if !sameValue(s.vars[name], old.vars[name]) {
			return false, false
		}
	}
	return true, true
}

// newPair compares two models.
func (r *Revisions) newPair(old, now *model) *pairedRevisions {
	t := &pairedRevisions{scopes: map[*scope]*scope{}, dirty: len(r.dirty)}
	before := map[string]*scope{}
	for _, s := range old.ev.all {
		before[s.prefix] = s
	}
	for _, s := range now.ev.all {
		if o := before[s.prefix]; o != nil && !r.dirty[s.directory.dir] && sameScope(old, now, o, s) {
			t.scopes[s] = o
		}
	}
	t.spread(old, now)
	at := map[string]int{}
	for i, in := range old.states {
		at[in.id] = i
	}
	for _, in := range now.states {
		from, known := at[in.id]
		if !known || t.scopes[in.st.scope.module()] == nil {
			from = -1
		}
		t.states = append(t.states, from)
	}
	for _, u := range now.ev.trail.units {
		if t.scopes[u.module()] == nil {
			t.again = append(t.again, u)
		}
	}
	return t
}

// spread removes modules that refer to removed modules, or that removed modules refer to.
func (t *pairedRevisions) spread(old, now *model) {
	names := func(m *model) map[[2]string]bool {
		out := map[[2]string]bool{}
		for l := range m.ev.trail.links {
			out[[2]string{l[0].prefix, l[1].prefix}] = true
		}
		return out
	}
	links := names(old)
	maps.Copy(links, names(now))
	in := map[string]*scope{}
	for s := range t.scopes {
		in[s.prefix] = s
	}
	for again := true; again; {
		again = false
		for l := range links {
			for i := range l {
				if s := in[l[i]]; s != nil && in[l[1-i]] == nil {
					delete(in, l[i])
					delete(t.scopes, s)
					again = true
				}
			}
		}
	}
}

// module returns the scope of the module of a unit.
func (u unit) module() *scope {
	if u.inner != nil {
		return u.inner.module()
	}
	return u.st.scope.module()
}

// sameScope reports whether a module is the same in two models, apart from the target, and depends
// on the target in the same way.
func sameScope(old, now *model, a, b *scope) bool {
	x, y := old.ev.trail.own[a], now.ev.trail.own[b]
	if a.directory.dir != b.directory.dir || a.assigned != b.assigned || !maps.Equal(x, y) || len(a.vars) != len(b.vars) {
		return false
	}
	for name, v := range b.vars {
		if w, ok := a.vars[name]; !ok || !x[name] && !sameValue(v, w) {
			return false
		}
	}
	if !maps.EqualFunc(a.facts, b.facts, sameValue) {
		return false
	}
	return maps.EqualFunc(inventory(a), inventory(b), sameMemo) && slices.EqualFunc(decisions(old, a), decisions(now, b), sameDecision)
}

// sameMemo reports whether a value depends on the target in both models, or is the same in both.
func sameMemo(a, b *memo) bool {
	return a.ok == b.ok && a.own == b.own && (a.own || a.done == b.done && sameValue(a.val, b.val))
}

// inventory has everything in a scope that has a value, by a unique name. A state that takes part
// has one more name.
func inventory(s *scope) map[string]*memo {
	out := map[string]*memo{}
	add := func(prefix string, all map[string]*memo) {
		for n, m := range all {
			out[prefix+"\x00"+n] = m
		}
	}
	var states func(list []*state)
	var scopes func(s *scope)
	states = func(list []*state) {
		for _, st := range list {
			states(st.members)
			for _, in := range st.keys {
				add(in.id, in.vals)
				if every := in.vals["for_each"]; every != nil {
					out[in.id+"\x00each"] = &memo{own: every.own, val: in.each["value"]}
				}
				if in.node >= 0 {
					out[in.id] = &memo{}
				}
				if in.inner != nil {
					scopes(in.inner)
				}
			}
		}
	}
	scopes = func(s *scope) {
		add(s.prefix+"\x00local", s.locals)
		add(s.prefix+"\x00output", s.outputs)
		states(s.order)
	}
	scopes(s)
	return out
}

// decision is a unit with its name.
type decision struct {
	name  string
	on    bool
	value cty.Value
}

func sameDecision(a, b decision) bool {
	return a.name == b.name && a.on == b.on && sameValue(a.value, b.value)
}

// decisions returns the decisions of a module, sorted by name.
func decisions(m *model, module *scope) []decision {
	var out []decision
	for _, u := range m.ev.trail.units {
		if u.inner != nil || u.module() != module {
			continue
		}
		d := decision{name: u.st.id(), on: u.on, value: u.value}
		if u.each != nil {
			d.name += "\x00" + u.each["key"].AsString()
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b decision) int { return cmp.Compare(a.name, b.name) })
	return out
}
