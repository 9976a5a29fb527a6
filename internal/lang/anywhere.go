package lang

import (
	"maps"

	"fettle.dev/fettle/internal/repo"
)

// anywhere is what the modules declare that a repository names.
type anywhere struct {
	vars    map[string]bool
	missing map[string]bool // folders that are not here
}

// declaredAnywhere are the variables of all modules that the repository names: at its
// top, in roles and groups, at targets. all is false when the folder of one is not
// here, as where a target has no more than its own part of a repository. Then nobody
// can tell what is declared nowhere. One that the target itself names, by these levels,
// does not count: it is told to be missing.
func (p *Program) declaredAnywhere(levels []*level) (vars map[string]bool, all bool) {
	if p.anywhere == nil {
		p.anywhere = p.lookAnywhere()
	}
	missing, waits := maps.Clone(p.anywhere.missing), p.waitingFor(&reports{}, levels)
	for _, l := range levels {
		for _, u := range p.levelModules(&reports{}, l) {
			if !waits.dirs[u.dir] {
				delete(missing, u.dir)
			}
		}
	}
	return p.anywhere.vars, len(missing) == 0
}

func (p *Program) lookAnywhere() *anywhere {
	a := &anywhere{vars: map[string]bool{}, missing: map[string]bool{}}
	defer func(used map[string]bool) { p.used = used }(p.used) // no target has a part in them
	p.used = map[string]bool{}
	seen := map[string]bool{}
	for _, l := range p.everyLevel() {
		for _, u := range p.levelModules(&reports{}, l) {
			if !seen[u.dir] {
				seen[u.dir] = true
				a.add(p, u)
			}
		}
	}
	return a
}

// add takes in a module. What is wrong with it is told elsewhere.
func (a *anywhere) add(p *Program, u *moduleUse) {
	if e, err := p.tree.Stat(u.dir); err != nil || e.Type != repo.Dir {
		a.missing[u.dir] = true
		return
	}
	b, _ := p.module(u.dir)
	for n := range b.vars {
		a.vars[n] = true
	}
}

// everyLevel are all places that can name modules.
func (p *Program) everyLevel() []*level {
	out := []*level{&p.top}
	for _, name := range sortedKeys(p.roles) {
		out = append(out, p.roles[name])
	}
	for _, g := range p.groups {
		out = append(out, &g.level)
	}
	for _, t := range p.targets {
		out = append(out, &t.level)
	}
	return out
}
