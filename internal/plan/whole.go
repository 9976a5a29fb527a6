package plan

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// WholeFile is a file of which only parts are managed: its content after the last run, and the content
// that a rollback restores if it is otherwise unchanged.
type WholeFile struct {
	From image.File `json:"from"`
	To   image.File `json:"to"`
}

// rearranged reports whether the parts of a file are unchanged but the file is not: a part was removed
// and added at another place. The last part in the list then restores the file, unless another change
// of this plan does.
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
