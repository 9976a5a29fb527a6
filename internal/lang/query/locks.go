package query

import "fettle.dev/fettle/internal/lang/source"

// Locks returns the locks that the repository declares, in the order of declaration.
func Locks(p *source.Program) (out []source.Lock) {
	for _, l := range p.Locks {
		out = append(out, *l)
	}
	return out
}
