package plan

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// Whole is a file of which only parts are managed: as the last run left it, and as a
// rollback restores it where nothing else has changed it.
type Whole struct {
	From image.File `json:"from"`
	To   image.File `json:"to"`
}

// whole gives the last change of a part of each file that no one else has changed what
// the whole file becomes. Parts that are restored one by one do not say in which order
// they were, nor what was made around them.
func (m *maker) whole() {
	if m.in.Goal == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(m.in.Goal.Edited)) {
		for i := range slices.Backward(m.p.Changes) {
			c := &m.p.Changes[i]
			if c.Addr.Kind() == addr.KindEdit && c.Addr.Path() == p && c.Action.Mutates() {
				w := m.in.Goal.Edited[p]
				c.Whole = &w
				break
			}
		}
	}
}
