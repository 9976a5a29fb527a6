package lang

import "strings"

// owners says which module has a name for a state that is a name in the list
// alone, such as an exec's: the first of the target that declares it. The same
// name in another module gets that module's in front, so that modules which know
// nothing of each other do not clash, and adding one at the end renames nothing.
type owners map[string]string // prefix of the module, by kind and label

// own notes the names of a module: those of its states, and those inside of the
// kinds that it defines.
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

// name is what the label of a state stands for.
func (ev *evaluator) name(st *state) string {
	if !st.kind.Free {
		return st.decl.label
	}
	module := st.scope
	for module.call != nil {
		module = module.call.st.scope
	}
	owner, known := ev.owners[ownKey(st.decl)]
	if !known || owner == module.prefix || module.body.folder != st.scope.body.folder {
		return st.decl.label
	}
	return strings.TrimPrefix(module.prefix, "module.") + st.decl.label
}
