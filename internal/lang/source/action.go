package source

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

func (ps *parser) action(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "changes", "command", "dry_run", "output", "timeout", "user", "cwd", "env",
		"lock"},
		[]string{"param"})
	at := b.Body.Attributes
	switch old := ps.body.Actions[name]; {
	case ps.in != nil:
		ps.Errorf(r, "Action inside a define",
			"Actions are declared in a module or at the top of the repository. Move the action out of the define block.")
		return
	case !hclsyntax.ValidIdentifier(name):
		ps.Errorf(r, "Bad name for an action",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case old != nil:
		ps.Errorf(r, "Action declared twice", "The action %q is already declared at %s. Rename or remove one of the two.",
			name, old.Range)
		return
	case at["command"] == nil:
		ps.Errorf(r, "Action without a command",
			`Set the command that the action runs: command = ["systemctl", "restart", "nginx"].`)
		return
	}
	a := &Action{Name: name, Range: r, Params: ps.params(b), Attributes: at, Doc: ps.textOf(at, "description"),
		Changes: ps.boolOf(at, "changes", true)}
	if o := at["output"]; o != nil {
		if word := ps.textOf(at, "output"); word != "json" && word != "text" {
			ps.Errorf(syntax.RangeOf(o.Expr.Range()), "Unknown output",
				`output must be "json" (the commands of the action print JSON) or "text", `+
					`and this is %q.%s`, word, syntax.Suggest(word, []string{"json", "text"}))
		}
		a.JSON = ps.textOf(at, "output") == "json"
	}
	if l := at["lock"]; l != nil && !a.Changes {
		ps.Errorf(syntax.RangeOf(l.NameRange), "Unnecessary lock",
			"The action %q changes nothing, so it needs no lock. Remove lock, or changes = false.", name)
	}
	ps.body.Actions[name] = a
}

// params reads the param blocks of a block. Each parameter is stored as a variable.
func (ps *parser) params(b *hclsyntax.Block) *Body {
	inner := &parser{prog: ps.prog, body: NewBody(ps.body.Directory)}
	for _, sub := range b.Body.Blocks {
		if sub.Type == "param" {
			inner.variable(sub)
		}
	}
	ps.Add(inner.List...)
	return inner.body
}

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
		ps.Errorf(rng, "No for_each here", "each exists only in blocks with for_each.")
	}
}
