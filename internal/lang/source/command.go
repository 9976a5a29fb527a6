package source

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

func (ps *parser) command(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"description", "targets"}, []string{"param", "part"})
	switch old := ps.prog.Commands[name]; {
	case !hclsyntax.ValidIdentifier(name):
		ps.Errorf(r, "Bad name for a command",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case old != nil:
		ps.Errorf(r, "Command declared twice", "The command %q is already declared at %s. Rename or remove one of the two.",
			name, old.Range)
		return
	}
	at := b.Body.Attributes
	c := &Command{Name: name, Range: r, Doc: ps.textOf(at, "description"), Params: ps.params(b), Targets: at["targets"]}
	for _, sub := range b.Body.Blocks {
		if sub.Type == "part" {
			ps.part(c, sub)
		}
	}
	if len(c.Parts) == 0 {
		ps.Errorf(r, "Command without a part",
			`Add a part with the work of the command: part "restart" { action = "service-restart" }.`)
		return
	}
	ps.prog.Commands[name] = c
}

func (ps *parser) part(c *Command, b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	at := b.Body.Attributes
	ps.only(b, append([]string{"targets", "action", "params", "command", "batch", "max_failed"}, ownOfCommand()...), nil)
	for _, old := range c.Parts {
		if old.Name == name {
			ps.Errorf(r, "Part declared twice", "The part %q is already declared at %s. Rename or remove one of the two.",
				name, old.Range)
			return
		}
	}
	x := &Part{Name: name, Range: r, Attributes: at, Action: ps.textOf(at, "action")}
	switch {
	case (at["action"] == nil) == (at["command"] == nil):
		ps.Errorf(r, "Part without an action or a command",
			`Set either action or command: action = "service-restart", or command = ["uptime"].`)
		return
	case at["action"] == nil && at["params"] != nil:
		ps.Errorf(syntax.RangeOf(at["params"].NameRange), "Parameters without an action",
			"Only an action has parameters. Write the values into the words of the command.")
		return
	}
	for _, a := range ownOfCommand() {
		if at["action"] != nil && at[a] != nil {
			ps.Errorf(syntax.RangeOf(at[a].NameRange), "Attribute of the action",
				"Remove %s: the declaration of the action sets it.", a)
			return
		}
	}
	c.Parts = append(c.Parts, x)
}

// ownOfCommand are the attributes of a part with a command, not with an action.
func ownOfCommand() []string { return []string{"changes", "env", "cwd", "user", "timeout"} }

// checkCommands checks the names in commands. Commands have no target, so only their parameters are
// known.
func (ps *parser) checkCommands() {
	if !ps.top {
		return
	}
	for _, name := range syntax.SortedNames(ps.prog.Commands) {
		c := ps.prog.Commands[name]
		ps.commandNames(c, c.Targets)
		for _, x := range c.Parts {
			for _, key := range syntax.SortedNames(x.Attributes) {
				ps.commandNames(c, x.Attributes[key])
			}
		}
	}
}

func (ps *parser) commandNames(c *Command, a *hclsyntax.Attribute) {
	if a == nil {
		return
	}
	for _, t := range ps.prog.NamesIn(a.Expr) {
		rng := syntax.RangeOf(t.SourceRange())
		name, ok := syntax.StepName(t, 1)
		switch {
		case t.RootName() != "param":
			ps.Errorf(rng, "Not known in a command",
				"A command runs on several targets, so it can use only param here. Move values that depend on the target into an action of a module.")
		case ok && c.Params.Vars[name] == nil:
			ps.Errorf(rng, "Unknown parameter",
				"The command %[2]s has no parameter %[1]q.%[3]s Declare it: "+
					"param %[4]q { type = string }.", name, c.Name, syntax.Suggest(name, syntax.Names(c.Params.Vars)), name)
		}
	}
}
