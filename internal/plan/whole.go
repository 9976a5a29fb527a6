package plan

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// Whole is a file of which only parts are managed: as the last run left it, and as a
// rollback restores it where nothing else has changed it.
type Whole struct {
	From image.File `json:"from"`
	To   image.File `json:"to"`
}

// rearranged tells whether the parts of a file are as they were, and the file is not: a part
// left it and returned in another place. Then the last part of it that the list has
// restores the file, unless another change of this plan does.
func (m *maker) rearranged(s step.Step) bool {
	if m.in.Goal == nil || s.Verb != step.Edit {
		return false
	}
	w, known := m.in.Goal.Edited[s.Path()]
	if !known || w.To.Type != image.Regular || w.To.Digest == w.From.Digest {
		return false
	}
	for a := range m.changed {
		if a.Kind() == addr.KindEdit && a.Path() == s.Path() {
			return false
		}
	}
	last := step.Step{}
	for _, o := range m.in.Wanted {
		if o.Verb == step.Edit && o.Path() == s.Path() {
			last = o
		}
	}
	return last.Addr() == s.Addr()
}

// rearrange restores the file around a part that is as it was.
func (m *maker) rearrange(c Change) {
	c.Action, c.Why = Restore, "the file around it is restored as it was "+m.when()
	m.add(c)
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
