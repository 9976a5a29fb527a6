package eval

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
)

func newScope(ev *Evaluator, b *source.Body, prefix, name string) *Scope {
	s := &Scope{body: b, Prefix: prefix, name: name, Directory: b.Directory, node: -1,
		Locals: map[string]*Memo{}, Outputs: map[string]*Memo{}, states: map[string]map[string]*State{},
		blocks: map[string]*State{}}
	s.fctx = ev.Program.Functions(b.Directory)
	declareStates(ev, s, b.Decls, nil)
	return s
}

// declareStates registers declarations by name before any evaluation, so that references can point
// forward.
func declareStates(ev *Evaluator, s *Scope, decls []*source.Declaration, parent *State) {
	for _, d := range decls {
		st := &State{decl: d, Scope: s, parent: parent, node: -1}
		if !resolveKind(ev, st) {
			continue
		}
		byLabel := s.states[d.Kind]
		if byLabel == nil {
			byLabel = map[string]*State{}
			s.states[d.Kind] = byLabel
		}
		if old := byLabel[d.Label]; old != nil {
			ev.Errorf(d.Labels[0], "State declared twice", "%s %q is already declared at %s. Use a different label.", d.Kind,
				d.Label, old.decl.Range)
			continue
		}
		byLabel[d.Label] = st
		if parent == nil {
			s.Order = append(s.Order, st)
		} else {
			parent.Members = append(parent.Members, st)
		}
		declareStates(ev, s, d.Members, st)
	}
}

// resolveKind finds the kind of a declaration: in Go, in the standard library, at the repository's
// top, or in the module itself.
func resolveKind(ev *Evaluator, st *State) bool {
	d := st.decl
	if d.Group {
		return true
	}
	var ds diag.List
	st.kind, st.Define, ds = ev.Program.FindKind(d.Kind, st.Scope.body)
	if ev.Add(ds...); st.kind != nil {
		return true
	}
	ev.Errorf(d.KindRange, "Unknown kind", "There is no kind %q.%s", d.Kind, kindHint(d.Kind, ev.Program.KindNames()))
	return false
}
