package source

import (
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// ReadDeclarations reads all modules that the repository names. They are not part of a target.
func (p *Program) ReadDeclarations() *declarations {
	a := &declarations{Vars: map[string]bool{}, Missing: map[string]bool{}}
	defer p.Aside()()
	seen := map[string]bool{}
	for _, l := range p.everyLevel() {
		for _, u := range p.LevelModules(&syntax.Reports{}, l) {
			if !seen[u.Directory] {
				seen[u.Directory] = true
				a.add(p, u)
			}
		}
	}
	return a
}

// add adds the variables of a module. The errors of the module are reported elsewhere.
func (a *declarations) add(p *Program, u *ModuleUse) {
	if e, err := p.Tree.Stat(u.Directory); err != nil || e.Type != repo.Dir {
		a.Missing[u.Directory] = true
		return
	}
	b, _ := p.Module(u.Directory)
	for n := range b.Vars {
		a.Vars[n] = true
	}
}

// everyLevel returns all levels that can name modules.
func (p *Program) everyLevel() []*Level {
	out := []*Level{&p.Top}
	for _, name := range syntax.SortedNames(p.Roles) {
		out = append(out, p.Roles[name])
	}
	for _, g := range p.Groups {
		out = append(out, &g.Level)
	}
	for _, t := range p.Targets {
		out = append(out, &t.Level)
	}
	return out
}
