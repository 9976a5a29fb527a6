package source

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

func (ps *parser) action(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "changes", "command", "dry_run", "output", "timeout", "user", "cwd", "env"},
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
