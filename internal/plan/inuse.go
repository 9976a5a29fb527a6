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

// stays keeps an address that cannot be removed now, and reports whether it did.
func (m *maker) stays(c Change, e journal.Entry) bool {
	if err := m.in.Failed[e.Addr]; err != nil {
		m.blocked(c, err)
		return true
	}
	return m.inUse(c, e)
}

// inUse keeps a directory of fettle that left the list while the list has paths in it. It stays
// managed: a released directory would remain after the removal of the last path in it.
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
	c.Why += "; the list has " + someOf(by) + " in it, so it stays until the list has no path in it"
	m.hold(e.Addr.Path())
	m.add(c)
	return true
}

// someOf names the first of several addresses and the number of the rest.
func someOf(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return fmt.Sprintf("%s and %d more", all[0], len(all)-1)
}

// wantedIn returns the addresses of the list below a directory, except paths and parts of files that
// must be absent.
func (m *maker) wantedIn(dir string) []string {
	var out []string
	for _, s := range m.in.Wanted {
		if a := string(s.Addr()); strings.HasPrefix(s.Path(), dir+"/") && m.needsDirectory(s) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// needsDirectory reports whether a step leaves an object at its path.
func (m *maker) needsDirectory(s step.Step) bool {
	if s.Verb != step.Edit || !s.Absent() {
		return s.Verb != step.Rm
	}
	now := m.in.Observed[s.Addr()].Region
	return !(now != nil && now.FileAbsent || m.removed(s) || m.takesMade(s))
}

// takesMade reports whether the removal of a part of a file also removes the file, because an edit of
// fettle created it. A file with other content stays, and so does its directory.
func (m *maker) takesMade(s step.Step) bool {
	now, e := m.in.Observed[s.Addr()].Region, m.now[s.Addr()]
	return m.in.Goal == nil && s.Verb == step.Edit && s.Absent() && now != nil && now.Present && e.Origin != nil && e.Origin.Region != nil && e.Origin.Region.FileAbsent
}

// holdsUnwanted reports whether a step removes a path below an existing directory.
func (m *maker) holdsUnwanted(dir string) bool {
	return slices.ContainsFunc(m.in.Wanted, func(s step.Step) bool {
		return s.Verb == step.Rm && strings.HasPrefix(s.Path(), dir+"/") && m.in.Observed[s.Addr()].File != nil && !absent(m.in.Observed[s.Addr()])
	})
}
