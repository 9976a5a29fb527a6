package lang

import (
	"maps"

	"fettle.dev/fettle/internal/repo"
)

// declarations has the declarations of all modules that a repository names.
type declarations struct {
	vars    map[string]bool
	missing map[string]bool // directories that do not exist in this tree
}

// allDeclared returns the variables of all modules that the repository names at its top, in
// roles and groups, and at targets. all is false if the directory of such a module is missing, as
// in the part of a repository that an agent has. It is then unknown whether a variable is declared.
// A missing module that the levels of this target name does not count, because it is reported as
// missing.
func (p *Program) allDeclared(levels []*level) (vars map[string]bool, all bool) {
	if p.declarations == nil {
		p.declarations = p.readDeclarations()
	}
	missing, waits := maps.Clone(p.declarations.missing), p.waitingFor(&reports{}, levels)
	for _, l := range levels {
		for _, u := range p.levelModules(&reports{}, l) {
			if !waits.dirs[u.dir] {
				delete(missing, u.dir)
			}
		}
	}
	return p.declarations.vars, len(missing) == 0
}

func (p *Program) readDeclarations() *declarations {
	a := &declarations{vars: map[string]bool{}, missing: map[string]bool{}}
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

// add adds the variables of a module. The errors of the module are reported elsewhere.
func (a *declarations) add(p *Program, u *moduleUse) {
	if e, err := p.tree.Stat(u.dir); err != nil || e.Type != repo.Dir {
		a.missing[u.dir] = true
		return
	}
	b, _ := p.module(u.dir)
	for n := range b.vars {
		a.vars[n] = true
	}
}

// everyLevel returns all levels that can name modules.
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
