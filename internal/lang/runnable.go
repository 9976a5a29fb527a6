package lang

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
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

// Runnable reads every module and uses no facts. Errors of commands are stored with the commands;
// errors of modules are returned.
func (p *Program) Runnable() (Runnable, diag.List) {
	bodies := map[string]*body{}
	ds := p.allBodies(func(b *body) { bodies[b.directory.dir] = b })
	if p.root == nil {
		return Runnable{}, ds
	}
	var out Runnable
	used := map[string]bool{}
	for _, u := range p.uses() {
		b := bodies[u.dir]
		if used[u.dir] = true; b == nil {
			continue
		}
		for _, name := range sortedKeys(b.actions) {
			d := Declared{Action: p.described(b.actions[name]), Directory: u.dir, Targets: u.targets}
			d.Module = u.name
			out.Actions = append(out.Actions, d)
		}
	}
	out.Actions = append(out.Actions, p.unused(bodies, used)...)
	slices.SortStableFunc(out.Actions, func(a, b Declared) int { return strings.Compare(a.ID(), b.ID()) })
	for _, name := range sortedKeys(p.commands) {
		c, r := p.commands[name], &reports{}
		p.checkName(r, c, out.Actions)
		for _, x := range c.parts {
			p.checkPart(r, x, out.Actions)
		}
		d := p.describedCommand(c)
		d.Errors = finish(p, r.list)
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
func (p *Program) uses() []*moduleTargets {
	top := &moduleTargets{dir: "."}
	out, seen := []*moduleTargets{top}, map[string]*moduleTargets{}
	r := &reports{} // errors of a target are reported when the target is used
	for _, t := range p.targets {
		top.targets = append(top.targets, t.name)
		for _, u := range p.targetModules(r, p.levels(r, t)) {
			key := u.name + "\x00" + u.dir
			if seen[key] == nil {
				seen[key] = &moduleTargets{name: u.name, dir: u.dir}
				out = append(out, seen[key])
			}
			seen[key].targets = append(seen[key].targets, t.name)
		}
	}
	if len(p.targets) == 0 {
		top.targets = []string{LocalTarget}
	}
	for _, u := range out {
		slices.Sort(u.targets)
	}
	return out
}

// unused returns the actions of modules without targets.
func (p *Program) unused(bodies map[string]*body, used map[string]bool) []Declared {
	var out []Declared
	for _, dir := range sortedKeys(bodies) {
		for _, name := range sortedKeys(bodies[dir].actions) {
			if used[dir] {
				continue
			}
			d := Declared{Action: p.described(bodies[dir].actions[name]), Directory: dir}
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

func (p *Program) checkName(r *reports, c *command, actions []Declared) {
	for _, b := range p.builtin.Commands {
		if b.Name == c.name {
			r.errorf(c.rng, "Name is taken", "There is a built-in command %q. Choose a different name.", c.name)
		}
	}
	for _, b := range p.builtin.Actions {
		if b.Name == c.name {
			r.errorf(c.rng, "Name is taken", "There is a built-in action %q. Choose a different name.", c.name)
		}
	}
	for _, d := range actions {
		if d.Name == c.name {
			r.errorf(c.rng, "Name is taken",
				"There is already an action %q at %s, and fettle run cannot distinguish the two. Choose a different name.", c.name, d.Range)
			return
		}
	}
}

// checkPart reports an unknown action, and unknown or missing parameters.
func (p *Program) checkPart(r *reports, x *part, actions []Declared) {
	if x.action == "" {
		return
	}
	var found []Action
	for _, d := range Called(actions, x.action) {
		found = append(found, d.Action)
	}
	names := map[string]bool{}
	for _, b := range p.builtin.Actions {
		names[b.Name] = true
		if b.Name == x.action { // as for fettle run
			found = []Action{b}
		}
	}
	at := rangeOf(x.attrs["action"].Expr.Range())
	if len(found) == 0 {
		for _, d := range actions {
			names[d.ID()], names[d.Name] = true, true
		}
		r.errorf(at, "Unknown action",
			"No module has an action %q, and no built-in action has this name.%s To list all actions, run: "+
				"fettle run --list.", x.action, Suggest(x.action, keysOf(names)))
		return
	}
	var given []string
	if params := x.attrs["params"]; params != nil {
		var ok bool
		if given, ok = keysIn(params.Expr); !ok {
			return
		}
		at = rangeOf(params.Expr.Range())
	}
	for _, a := range found {
		for _, d := range checkNames(a, given) {
			d.Range = at
			r.add(d)
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
