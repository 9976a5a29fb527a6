package source

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

// NamesIn returns the references in an expression. The result is cached.
func (p *Program) NamesIn(e hclsyntax.Expression) []hcl.Traversal {
	found, known := p.named[e]
	if !known {
		found = e.Variables()
		p.named[e] = found
	}
	return found
}

// checkActions checks the names in the actions of a module. The values of these names are unknown
// until a user calls the action.
func (ps *parser) checkActions() {
	for _, name := range syntax.SortedNames(ps.body.Actions) {
		a := ps.body.Actions[name]
		for _, key := range syntax.SortedNames(a.Attributes) {
			for _, t := range ps.prog.NamesIn(a.Attributes[key].Expr) {
				ps.actionName(a, t)
			}
		}
	}
}

// actionName reports an unknown name.
func (ps *parser) actionName(a *Action, t hcl.Traversal) {
	name, ok := syntax.StepName(t, 1)
	if !ok {
		return
	}
	rng := syntax.RangeOf(t.SourceRange())
	switch root := t.RootName(); {
	case root == "param" && a.Params.Vars[name] == nil:
		ps.Errorf(rng, "Unknown parameter",
			"The action %[2]s has no parameter %[1]q.%[3]s Declare it: "+
				"param %[4]q { type = string }.", name, a.Name, syntax.Suggest(name, syntax.Names(a.Params.Vars)), name)
	case root == "var" && ps.body.Vars[name] == nil:
		ps.Errorf(rng, "Unknown variable", "There is no variable %q here.%s Declare it: variable %q { type = string }.",
			name, syntax.Suggest(name, syntax.Names(ps.body.Vars)), name)
	case root == "local" && ps.body.Locals[name] == nil:
		ps.Errorf(rng, "Unknown local", "There is no local %q here.%s Write: locals { %s = … }.", name,
			syntax.Suggest(name, syntax.Names(ps.body.Locals)), name)
	case root == "each":
		ps.Errorf(rng, "No for_each here", "each exists only in states with for_each.")
	}
}
