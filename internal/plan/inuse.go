package plan

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// stays leaves an address as it is that cannot go now.
func (m *maker) stays(c Change, e journal.Entry) bool {
	if err := m.in.Failed[e.Addr]; err != nil {
		m.blocked(c, err)
		return true
	}
	return m.inUse(c, e)
}

// inUse leaves a directory that fettle made and that is no longer wanted while the list
// has something in it. It stays managed, since a directory that was released would
// remain when the last address in it goes.
func (m *maker) inUse(c Change, e journal.Entry) bool {
	now, was := m.in.Observed[e.Addr].File, e.Origin.File
	if e.Addr.Kind() != addr.KindFile || was == nil || was.Type != image.Absent || now == nil || now.Type != image.Directory {
		return false
	}
	by := m.wantedIn(e.Addr.Path())
	if len(by) == 0 {
		return false
	}
	c.Action, c.Needed = Blocked, by
	c.Why += "; the list has " + someOf(by) + " in it, so it stays, and is removed when the list has nothing in it"
	m.hold(e.Addr.Path())
	m.add(c)
	return true
}

// someOf names the first of several, and says how many others there are.
func someOf(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return fmt.Sprintf("%s and %d more", all[0], len(all)-1)
}

// wantedIn lists the addresses that the list has below a directory, but for paths that
// must not exist.
func (m *maker) wantedIn(dir string) []string {
	var out []string
	for _, s := range m.in.Wanted {
		if a := string(s.Addr()); s.Verb != step.Rm && strings.HasPrefix(s.Path(), dir+"/") && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
