package query

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// waiting has the modules of a target that its fleet does not allow yet, by directory and by name.
// They do not exist in the tree and are never read. A module can need them without an error.
type waiting struct{ dirs, names map[string]bool }

// waitingFor reads the waits attribute of the target's enrolled block. Errors of the modules
// themselves are reported where they are listed.
func waitingFor(p *source.Program, r *syntax.Reports, levels []*source.Level) waiting {
	w := waiting{map[string]bool{}, map[string]bool{}}
	a := levels[len(levels)-1].Waits
	if a == nil {
		return w
	}
	v, ok := p.Early(r, a.Expr, cty.Set(cty.String))
	if !ok {
		return w
	}
	for _, e := range v.AsValueSlice() {
		w.dirs[e.AsString()] = true
	}
	for _, l := range levels {
		for _, u := range p.LevelModules(&syntax.Reports{}, l) {
			if w.dirs[u.Directory] {
				w.names[u.Name] = true
			}
		}
	}
	return w
}
