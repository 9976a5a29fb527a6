package query

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Declared is an action, the directory of its module, and the targets with the module.
type Declared struct {
	Action
	Directory string   // of the module, "." for the top
	Targets   []string // that have the module, by name
}

// Runnable has all commands and actions of a repository.
type Runnable struct {
	Commands []Command  // by name
	Actions  []Declared // by module, then by name; twice for a module with two names
}

// Builtin has the built-in actions and commands.
type Builtin struct {
	Actions  []Action
	Commands []Command
}

// FindRunnable reads every module and uses no facts. Errors of commands are stored with the commands;
// errors of modules are returned. Commands of the repository can run built-in actions, and must not
// reuse built-in names.
func FindRunnable(p *source.Program, builtin Builtin) (Runnable, diag.List) {
	bodies := map[string]*source.Body{}
	ds := allBodies(p, func(b *source.Body) { bodies[b.Directory.Path] = b })
	if p.Root == nil {
		return Runnable{}, ds
	}
	var out Runnable
	used := map[string]bool{}
	for _, u := range uses(p) {
		b := bodies[u.dir]
		if used[u.dir] = true; b == nil {
			continue
		}
		for _, name := range syntax.SortedNames(b.Actions) {
			d := Declared{Action: DescribeAction(p, b.Actions[name]), Directory: u.dir, Targets: u.targets}
			d.Module = u.name
			out.Actions = append(out.Actions, d)
		}
	}
	out.Actions = append(out.Actions, unused(p, bodies, used)...)
	slices.SortStableFunc(out.Actions, func(a, b Declared) int { return strings.Compare(a.ID(), b.ID()) })
	for _, name := range syntax.SortedNames(p.Commands) {
		c, r := p.Commands[name], &syntax.Reports{}
		builtin.checkName(r, c, out.Actions)
		for _, x := range c.Parts {
			builtin.checkPart(r, x, out.Actions)
		}
		d := describeCommand(p, c)
		d.Errors = source.Finish(p, r.List)
		out.Commands = append(out.Commands, d)
	}
	return out, ds
}

// moduleTargets is a module under one of its names, with its targets.
type moduleTargets struct {
	name, dir string
	targets   []string
}

// uses returns the top level, which every target has, and the modules of targets.
func uses(p *source.Program) []*moduleTargets {
	top := &moduleTargets{dir: "."}
	out, seen := []*moduleTargets{top}, map[string]*moduleTargets{}
	r := &syntax.Reports{} // errors of a target are reported when the target is used
	for _, t := range p.Targets {
		top.targets = append(top.targets, t.Name)
		for _, u := range TargetModules(p, r, Levels(p, r, t)) {
			key := u.Name + "\x00" + u.Directory
			if seen[key] == nil {
				seen[key] = &moduleTargets{name: u.Name, dir: u.Directory}
				out = append(out, seen[key])
			}
			seen[key].targets = append(seen[key].targets, t.Name)
		}
	}
	if !p.HasTargets() {
		top.targets = []string{LocalTarget}
	}
	for _, u := range out {
		slices.Sort(u.targets)
	}
	return out
}

// unused returns the actions of modules without targets.
func unused(p *source.Program, bodies map[string]*source.Body, used map[string]bool) []Declared {
	var out []Declared
	for _, dir := range syntax.SortedNames(bodies) {
		for _, name := range syntax.SortedNames(bodies[dir].Actions) {
			if used[dir] {
				continue
			}
			d := Declared{Action: DescribeAction(p, bodies[dir].Actions[name]), Directory: dir}
			d.Module = path.Base(dir)
			out = append(out, d)
		}
	}
	return out
}

// Called returns the actions that an argument of fettle run names: matches of the whole name or, if
// there are none, of the short name.
func Called(all []Declared, name string) []Declared {
	var whole, short []Declared
	for _, d := range all {
		switch name {
		case d.ID():
			whole = append(whole, d)
		case d.Name:
			short = append(short, d)
		}
	}
	if len(whole) > 0 {
		return whole
	}
	return short
}

func (b Builtin) checkName(r *syntax.Reports, c *source.Command, actions []Declared) {
	for _, known := range b.Commands {
		if known.Name == c.Name {
			r.Errorf(c.Range, "Name is taken", "There is a built-in command %q. Choose a different name.", c.Name)
		}
	}
	for _, known := range b.Actions {
		if known.Name == c.Name {
			r.Errorf(c.Range, "Name is taken", "There is a built-in action %q. Choose a different name.", c.Name)
		}
	}
	for _, d := range actions {
		if d.Name == c.Name {
			r.Errorf(c.Range, "Name is taken",
				"There is already an action %q at %s, and fettle run cannot distinguish the two. Choose a different name.",
				c.Name, d.Range)
			return
		}
	}
}

// checkPart reports an unknown action, and unknown or missing parameters.
func (b Builtin) checkPart(r *syntax.Reports, x *source.Part, actions []Declared) {
	if x.Action == "" {
		return
	}
	var found []Action
	for _, d := range Called(actions, x.Action) {
		found = append(found, d.Action)
	}
	names := map[string]bool{}
	for _, known := range b.Actions {
		names[known.Name] = true
		if known.Name == x.Action { // as for fettle run
			found = []Action{known}
		}
	}
	at := syntax.RangeOf(x.Attributes["action"].Expr.Range())
	if len(found) == 0 {
		for _, d := range actions {
			names[d.ID()], names[d.Name] = true, true
		}
		r.Errorf(at, "Unknown action",
			"No module has an action %q, and no built-in action has this name.%s To list all actions, run: "+
				"fettle run --list.", x.Action, syntax.Suggest(x.Action, syntax.Names(names)))
		return
	}
	var given []string
	if params := x.Attributes["params"]; params != nil {
		var ok bool
		if given, ok = keysIn(params.Expr); !ok {
			return
		}
		at = syntax.RangeOf(params.Expr.Range())
	}
	for _, a := range found {
		for _, d := range checkNames(a, given) {
			d.Range = at
			r.Add(d)
		}
	}
}

// checkNames is like CheckParams, but without values.
func checkNames(a Action, given []string) diag.List {
	values := map[string]string{}
	for _, n := range given {
		values[n] = ""
	}
	params := slices.Clone(a.Params)
	for i := range params {
		params[i].Type = "" // the value is not known yet
	}
	return CheckParams("the action \""+a.Name+"\"", a.Name, params, values)
}
