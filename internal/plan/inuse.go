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

// wantedIn lists the addresses that the list has below a directory, but for paths and parts
// of files that must not exist.
func (m *maker) wantedIn(dir string) []string {
	var out []string
	for _, s := range m.in.Wanted {
		if a := string(s.Addr()); strings.HasPrefix(s.Path(), dir+"/") && m.needsDirectory(s) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// needsDirectory tells whether a step of a path leaves something there.
func (m *maker) needsDirectory(s step.Step) bool {
	if s.Verb != step.Edit || !s.Absent() {
		return s.Verb != step.Rm
	}
	now := m.in.Observed[s.Addr()].Region
	return !(now != nil && now.FileAbsent || m.removed(s) || m.takesMade(s))
}

// takesMade tells whether the removal of a part of a file removes its file, since an edit of
// fettle created the file. A file with other content stays, and its directory stays too.
func (m *maker) takesMade(s step.Step) bool {
	now, e := m.in.Observed[s.Addr()].Region, m.now[s.Addr()]
	return m.in.Goal == nil && s.Verb == step.Edit && s.Absent() && now != nil && now.Present && e.Origin != nil && e.Origin.Region != nil && e.Origin.Region.FileAbsent
}

// holdsUnwanted tells whether a step removes something below a directory that exists.
func (m *maker) holdsUnwanted(dir string) bool {
	return slices.ContainsFunc(m.in.Wanted, func(s step.Step) bool {
		return s.Verb == step.Rm && strings.HasPrefix(s.Path(), dir+"/") && m.in.Observed[s.Addr()].File != nil && !absent(m.in.Observed[s.Addr()])
	})
}
