package incremental

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/eval"
)

// newPair compares two models. dirty are the directories with a read that differs.
func newPair(dirty map[string]bool, old, now *model) *pairedRevisions {
	t := &pairedRevisions{scopes: map[*eval.Scope]*eval.Scope{}, dirty: len(dirty)}
	before := map[string]*eval.Scope{}
	for _, s := range old.ev.All {
		before[s.Prefix] = s
	}
	for _, s := range now.ev.All {
		if o := before[s.Prefix]; o != nil && !dirty[s.Directory.Path] && sameScope(old, now, o, s) {
			t.scopes[s] = o
		}
	}
	t.spread(old, now)
	at := map[string]int{}
	for i, in := range old.states {
		at[in.ID] = i
	}
	for _, in := range now.states {
		from, known := at[in.ID]
		if !known || t.scopes[in.State.Scope.Module()] == nil {
			from = -1
		}
		t.states = append(t.states, from)
	}
	for _, u := range now.trail.units {
		if t.scopes[u.Module()] == nil {
			t.again = append(t.again, u)
		}
	}
	return t
}

// spread removes modules that refer to removed modules, or that removed modules refer to.
func (t *pairedRevisions) spread(old, now *model) {
	names := func(m *model) map[[2]string]bool {
		out := map[[2]string]bool{}
		for l := range m.trail.links {
			out[[2]string{l[0].Prefix, l[1].Prefix}] = true
		}
		return out
	}
	links := names(old)
	maps.Copy(links, names(now))
	in := map[string]*eval.Scope{}
	for s := range t.scopes {
		in[s.Prefix] = s
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

// sameScope reports whether a module is the same in two models, apart from the target, and depends
// on the target in the same way.
func sameScope(old, now *model, a, b *eval.Scope) bool {
	x, y := old.trail.own[a], now.trail.own[b]
	if a.Directory.Path != b.Directory.Path || a.Assigned != b.Assigned || !maps.Equal(x, y) ||
		len(a.Vars) != len(b.Vars) {
		return false
	}
	for name, v := range b.Vars {
		if w, ok := a.Vars[name]; !ok || !x[name] && !sameValue(v, w) {
			return false
		}
	}
	if !maps.EqualFunc(a.Facts, b.Facts, sameValue) {
		return false
	}
	return maps.EqualFunc(inventory(a), inventory(b), sameMemo) &&
		slices.EqualFunc(decisions(old, a), decisions(now, b), sameDecision)
}

// sameMemo reports whether a value depends on the target in both models, or is the same in both.
func sameMemo(a, b *eval.Memo) bool {
	return a.OK == b.OK && a.Own == b.Own && (a.Own || a.Done == b.Done && sameValue(a.Value, b.Value))
}

// inventory has everything in a scope that has a value, by a unique name. A state that takes part
// has one more name.
func inventory(s *eval.Scope) map[string]*eval.Memo {
	out := map[string]*eval.Memo{}
	add := func(prefix string, all map[string]*eval.Memo) {
		for n, m := range all {
			out[prefix+"\x00"+n] = m
		}
	}
	var states func(list []*eval.State)
	var scopes func(s *eval.Scope)
	states = func(list []*eval.State) {
		for _, st := range list {
			states(st.Members)
			for _, in := range st.Keys {
				add(in.ID, in.Values)
				if every := in.Values["for_each"]; every != nil {
					out[in.ID+"\x00each"] = &eval.Memo{Own: every.Own, Value: in.Each["value"]}
				}
				if in.Node >= 0 {
					out[in.ID] = &eval.Memo{}
				}
				if in.Inner != nil {
					scopes(in.Inner)
				}
			}
		}
	}
	scopes = func(s *eval.Scope) {
		add(s.Prefix+"\x00local", s.Locals)
		add(s.Prefix+"\x00output", s.Outputs)
		states(s.Order)
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
func decisions(m *model, module *eval.Scope) []decision {
	var out []decision
	for _, u := range m.trail.units {
		if u.Inner != nil || u.Module() != module {
			continue
		}
		d := decision{name: u.State.ID(), on: u.On, value: u.Value}
		if u.Each != nil {
			d.name += "\x00" + u.Each["key"].AsString()
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b decision) int { return cmp.Compare(a.name, b.name) })
	return out
}
