package child

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// exports writes the exported inputs of a module.
func (w *writer) exports(u query.Use) {
	w.int(len(u.Exported))
	for _, e := range u.Exported {
		w.texts([]string{e.Name, e.Module, e.Output, string(e.Type)})
		w.texts(e.Targets)
		w.texts(e.Same)
		w.int(len(e.Labels))
		for _, k := range slices.Sorted(maps.Keys(e.Labels)) {
			w.text(k)
			w.texts(e.Labels[k])
		}
		w.int(e.AtLeast)
		w.rng(e.Range)
	}
}

func (r *reader) exports(u *query.Use) {
	for range r.count(16) {
		names := r.texts()
		if len(names) != 4 {
			r.fail("an exported block of %d parts", len(names))
			return
		}
		e := source.Exported{Name: names[0], Module: names[1], Output: names[2], Targets: r.texts(), Same: r.texts()}
		for range r.count(2) {
			if e.Labels == nil {
				e.Labels = map[string][]string{}
			}
			k := r.text()
			e.Labels[k] = r.texts()
		}
		e.AtLeast, e.Range = r.int(), r.rng()
		if names[3] != "" {
			e.Type = []byte(names[3])
			if _, err := exported.TypeOf(e.Type); r.err == nil && err != nil {
				r.fail("the type of %q: %v", e.Output, err)
				return
			}
		}
		u.Exported = append(u.Exported, e)
	}
}
