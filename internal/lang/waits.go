package lang

import "github.com/zclconf/go-cty/cty"

// waiting are the modules of a target that a fleet does not let go on yet, by folder and
// by name. They are not there, nobody reads them, and whoever needs them is not wrong.
type waiting struct{ dirs, names map[string]bool }

// waitingFor reads what the target's enrolled block says. What is wrong with the modules
// themselves is told where they are listed.
func (p *Program) waitingFor(r *reports, levels []*level) waiting {
	w := waiting{map[string]bool{}, map[string]bool{}}
	a := levels[len(levels)-1].waits
	if a == nil {
		return w
	}
	v, ok := p.early(r, a.Expr, cty.Set(cty.String))
	if !ok {
		return w
	}
	for _, e := range v.AsValueSlice() {
		w.dirs[e.AsString()] = true
	}
	for _, l := range levels {
		for _, u := range p.levelModules(&reports{}, l) {
			if w.dirs[u.dir] {
				w.names[u.name] = true
			}
		}
	}
	return w
}
