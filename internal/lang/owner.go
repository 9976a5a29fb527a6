package lang

import "strings"

// owners maps a name that exists only in the list, such as the name of an exec, to the module that
// owns it: the first module of the target that declares it. In another module, the same name gets
// the prefix of that module. Independent modules therefore do not clash, and a module that is added
// at the end renames nothing.
type owners map[string]string // prefix of the module, by kind and label

// own records the names of a module: the names of its states, and of states in its defined kinds.
func (ev *evaluator) own(s *scope) {
	ev.ownAll(s.body.decls, s.prefix)
	for _, d := range s.body.defines {
		ev.ownAll(d.body.decls, s.prefix)
	}
}

func (ev *evaluator) ownAll(decls []*decl, prefix string) {
	for _, d := range decls {
		if _, taken := ev.owners[ownKey(d)]; !taken {
			ev.owners[ownKey(d)] = prefix
		}
		ev.ownAll(d.members, prefix)
	}
}

func ownKey(d *decl) string { return d.kind + "\x00" + d.label }

// name returns the name of a state in the list: its label, with a prefix if another module owns the
// name.
func (ev *evaluator) name(st *state) string {
	if !st.kind.Free {
		return st.decl.label
	}
	module := st.scope
	for module.call != nil {
		module = module.call.st.scope
	}
	owner, known := ev.owners[ownKey(st.decl)]
	if !known || owner == module.prefix || module.body.directory != st.scope.body.directory {
		return st.decl.label
	}
	return strings.TrimPrefix(module.prefix, "module.") + st.decl.label
}
