package eval

import (
	"strings"

	"fettle.dev/fettle/internal/lang/source"
)

// ownStates records the names of a module: the names of its states, and of states in its defined kinds.
func ownStates(ev *Evaluator, s *Scope) {
	ev.ownAll(s.body.Decls, s.Prefix)
	for _, d := range s.body.Defines {
		ev.ownAll(d.Body.Decls, s.Prefix)
	}
}

func (ev *Evaluator) ownAll(decls []*source.Declaration, prefix string) {
	for _, d := range decls {
		if _, taken := ev.owners[ownKey(d)]; !taken {
			ev.owners[ownKey(d)] = prefix
		}
		ev.ownAll(d.Members, prefix)
	}
}

func ownKey(d *source.Declaration) string { return d.Kind + "\x00" + d.Label }

// name returns the name of a state in the list: its label, with a prefix if another module owns the
// name. A module of a block with for_each owns no name, so another element renames nothing.
func (ev *Evaluator) name(st *State) string {
	if !st.kind.Free {
		return st.decl.Label
	}
	module := st.Scope
	for module.Call != nil {
		module = module.Call.State.Scope
	}
	owner, known := ev.owners[ownKey(st.decl)]
	if (!known || owner == module.Prefix) && !module.instance || module.body.Directory != st.Scope.body.Directory {
		return st.decl.Label
	}
	return strings.TrimPrefix(module.Prefix, "module.") + st.decl.Label
}
