package once

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// Runnable returns the actions and commands of the repository, as far as its modules can be read.
// broken is the error of the other modules.
func Runnable(s *cli.Printer, src *workspace.Source) (all query.Runnable, broken error) {
	all, ds := compile.Ask(s.App.Language.Queries, compile.RunnableQuery{About: src.About()})
	return all, ds.Err()
}

// foundCommand is a command, of the repository or built in.
type foundCommand struct {
	query.Command
	builtin *builtin.Command // nil for one of the repository
}

// Find returns the meaning of a word of fettle run: a command, or an action, which can differ on each
// target.
func Find(s *cli.Printer, src *workspace.Source, name string) (*foundCommand, []query.Declared, error) {
	if b := builtin.CommandOf(name); b != nil {
		return &foundCommand{b.Command, b}, nil, nil
	}
	all, broken := Runnable(s, src)
	for _, c := range all.Commands {
		if c.Name == name {
			return &foundCommand{c, nil}, nil, c.Errors.Err()
		}
	}
	if found := query.Called(all.Actions, name); len(found) > 0 {
		return nil, found, nil
	}
	if broken != nil {
		return nil, nil, broken
	}
	return nil, nil, cli.Refuse("List them: fettle run --list\nA program follows --: fettle run -- "+name,
		fmt.Sprintf("cannot run %q: there is no action and no command of that name.%s", name,
			syntax.Suggest(name, namesOf(all))))
}

// namesOf is everything that fettle run could be asked for.
func namesOf(all query.Runnable) []string {
	var out []string
	for _, c := range all.Commands {
		out = append(out, c.Name)
	}
	for _, a := range all.Actions {
		out = append(out, a.Name)
	}
	for _, a := range builtin.Actions() {
		out = append(out, a.Name)
	}
	for _, c := range builtin.Commands() {
		out = append(out, c.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CheckCalled returns an error for parameters that fit none of the actions of a name.
func CheckCalled(found []query.Declared, params map[string]string) error {
	var first error
	for _, d := range found {
		err := d.Action.Check(params).Err()
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// onAll refuses an action that one of the targets does not have, or of which one has
// two.
func onAll(name string, found []query.Declared, targets []string) error {
	of := map[string][]string{}
	for _, d := range found {
		for _, t := range d.Targets {
			of[t] = append(of[t], d.ID())
		}
	}
	var lacking []string
	for _, t := range targets {
		switch {
		case len(of[t]) == 0:
			lacking = append(lacking, t)
		case len(of[t]) > 1:
			slices.Sort(of[t])
			return cli.Refuse("Name the module: fettle run "+strings.Join(of[t], " …, or fettle run ")+" …",
				fmt.Sprintf("cannot run %s on %s: several of its modules have an action of that name", name, t))
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	hint := "List actions and their targets: fettle run --list"
	if len(lacking) < len(targets) && len(lacking) <= fewTargets {
		hint = "Exclude them with -t …,!" + strings.Join(lacking, ",!") + ", or assign the module to them"
	}
	return cli.Refuse(hint, fmt.Sprintf("cannot run %s on %s: there is no such action there. %s", name, SomeNames(lacking),
		whereDeclared(found)))
}

// partsOf returns the parts of a command, with the values of its parameters.
func partsOf(s *cli.Printer, src *workspace.Source, c *foundCommand, params map[string]string) ([]query.Part, error) {
	if c.builtin != nil {
		if err := query.CheckParams(fmt.Sprintf("the command %q", c.Name), c.Name, c.Params, params).Err(); err != nil {
			return nil, err
		}
		return c.builtin.Run(builtin.ValuesOf(c.Params, params)), nil
	}
	parts, ds := compile.Ask(s.App.Language.Queries,
		compile.CommandQuery{About: src.About(), Name: c.Name, Params: params})
	return parts, ds.Err()
}
