package lang

import (
	"github.com/hashicorp/hcl/v2"
)

// checkActions checks the names in the actions of a module. The values of these names are unknown
// until a user calls the action.
func (ps *parser) checkActions() {
	for _, name := range sortedKeys(ps.body.actions) {
		a := ps.body.actions[name]
		for _, key := range sortedKeys(a.attrs) {
			for _, t := range ps.prog.namesIn(a.attrs[key].Expr) {
				ps.actionName(a, t)
			}
		}
	}
}

// actionName reports an unknown name.
func (ps *parser) actionName(a *action, t hcl.Traversal) {
	name, ok := stepName(t, 1)
	if !ok {
		return
	}
	rng := rangeOf(t.SourceRange())
	switch root := t.RootName(); {
	case root == "param" && a.params.vars[name] == nil:
		ps.errorf(rng, "Unknown parameter",
			"The action %[2]s has no parameter %[1]q.%[3]s Declare it: "+
				"param %[4]q { type = string }.", name, a.name, Suggest(name, keysOf(a.params.vars)), name)
	case root == "var" && ps.body.vars[name] == nil:
		ps.errorf(rng, "Unknown variable", "There is no variable %q here.%s Declare it: variable %q { type = string }.", name, Suggest(name, keysOf(ps.body.vars)), name)
	case root == "local" && ps.body.locals[name] == nil:
		ps.errorf(rng, "Unknown local", "There is no local %q here.%s Write: locals { %s = … }.", name, Suggest(name, keysOf(ps.body.locals)), name)
	case root == "each":
		ps.errorf(rng, "No for_each here", "each exists only in states with for_each.")
	}
}
