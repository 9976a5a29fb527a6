package plan

import (
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// postponed delays the removal of a directory that fettle created if a step of the list removes an
// object in it. Before that step the directory is not empty, so it would stay and be released.
func (m *maker) postponed(e journal.Entry) bool {
	o := e.Origin.File
	if m.changed[e.Addr] || e.Addr.Kind() != addr.KindFile || o == nil || o.Type != image.Absent {
		return false
	}
	by := ""
	for _, s := range m.in.Wanted {
		if !strings.HasPrefix(s.Path(), e.Addr.Path()+"/") {
			continue
		}
		if now := m.in.Observed[s.Addr()].File; s.Verb == step.Rm && now != nil && now.Type != image.Absent || m.takesMade(s) {
			by = s.Path()
		}
	}
	if by == "" {
		return false
	}
	m.changed[e.Addr] = true // so that no other change removes it
	m.empties[by] = append(m.empties[by], e)
	return true
}

// emptied plans the removal of the directories that waited for a step.
func (m *maker) emptied(s step.Step) {
	if s.Verb == step.Edit && m.takesMade(s) {
		m.going[s.Path()] = true
	} else if s.Verb != step.Rm {
		return
	}
	waiting := m.empties[s.Path()]
	delete(m.empties, s.Path())
	for _, e := range waiting {
		m.remove(e)
	}
}
