package plan

import (
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// postponed leaves the removal of a directory that fettle made for later if the list says
// that something which is in it must not exist: the directory is empty only after that
// step, and a directory that is not empty stays and is released.
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
	m.changed[e.Addr] = true // so that nothing else takes it away
	m.empties[by] = append(m.empties[by], e)
	return true
}

// emptied removes the directories that waited for a step.
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
