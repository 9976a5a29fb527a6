package plan

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
)

// rearrange restores the file around an unchanged part.
func (m *maker) rearrange(c Change) {
	c.Action, c.Why = Restore, "its whole file is restored as it was "+m.when()
	m.add(c)
}

// whole adds the resulting file to the last change of a part of each file, unless the file was also
// changed by others. The images of single parts do not have their order, nor the changes around them.
func (m *maker) whole() {
	if m.in.Goal == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(m.in.Goal.Edited)) {
		for i := range slices.Backward(m.p.Changes) {
			c := &m.p.Changes[i]
			if c.Addr.Kind() == addr.KindEdit && c.Addr.Path() == p && c.Action.Mutates() {
				w := m.in.Goal.Edited[p]
				c.WholeFile = &w
				break
			}
		}
	}
}
