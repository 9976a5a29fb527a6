package query

import (
	"maps"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// AllDeclared returns the variables of all modules that the repository names at its top, in
// roles and groups, and at targets. all is false if the directory of such a module is missing, as
// in the part of a repository that an agent has. It is then unknown whether a variable is declared.
// A missing module that the levels of this target name does not count, because it is reported as
// missing.
func AllDeclared(p *source.Program, levels []*source.Level) (vars map[string]bool, all bool) {
	if p.Declarations == nil {
		p.Declarations = p.ReadDeclarations()
	}
	missing, waits := maps.Clone(p.Declarations.Missing), waitingFor(p, &syntax.Reports{}, levels)
	for _, l := range levels {
		for _, u := range p.LevelModules(&syntax.Reports{}, l) {
			if !waits.dirs[u.Directory] {
				delete(missing, u.Directory)
			}
		}
	}
	return p.Declarations.Vars, len(missing) == 0
}
