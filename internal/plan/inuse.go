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
func (m *removals) stays(c Change, e journal.Entry) bool {
	if err := m.in.Failed[e.Addr]; err != nil {
		m.refusals.blocked(c, err)
		return true
	}
	return m.inUse(c, e)
}

// inUse keeps a directory of fettle that left the list while the list has paths in it. It stays
// managed: a released directory would remain after the removal of the last path in it.
func (m *removals) inUse(c Change, e journal.Entry) bool {
	now, was := m.in.Observed[e.Addr].File(), e.Origin.File()
	if e.Addr.Kind() != addr.KindFile || was == nil || was.Type != image.Absent || !isDirectory(now) {
		return false
	}
	by := m.wantedIn(e.Addr.Path())
	if len(by) == 0 {
		return false
	}
	c.Action, c.Needed = Blocked, by
	c.Why += "; the list has " + someOf(by) + " in it, so it stays until the list has no path in it"
	m.refusals.hold(e.Addr.Path())
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
func (m *removals) wantedIn(dir string) []string {
	var out []string
	for _, s := range m.in.Desired {
		if a := string(s.Addr()); strings.HasPrefix(s.Path(), dir+"/") && m.needsDirectory(s) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// needsDirectory reports whether a step leaves an object at its path.
func (m *removals) needsDirectory(s step.Step) bool {
	if s.Verb != step.Edit || !s.Absent() {
		return s.Verb != step.Rm
	}
	now := m.in.Observed[s.Addr()].Region()
	return !(now != nil && now.FileAbsent || m.removed(s) || m.loses(s.Path()))
}

// loses reports whether a step removes the file at a path with the last part that fettle created.
func (m *removals) loses(p string) bool {
	return slices.ContainsFunc(m.in.Desired, func(s step.Step) bool { return s.Path() == p && m.takesMade(s) })
}

// holdsUnwanted reports whether a step removes a path below an existing directory.
func (m *removals) holdsUnwanted(dir string) bool {
	return slices.ContainsFunc(m.in.Desired, func(s step.Step) bool {
		return s.Verb == step.Rm && strings.HasPrefix(s.Path(), dir+"/") && exists(m.in.Observed[s.Addr()].File())
	})
}

// postponed delays the removal of a directory that fettle created if a step of the list removes an
// object in it. Before that step the directory is not empty, so it would stay and be released.
func (m *removals) postponed(e journal.Entry) bool {
	o := e.Origin.File()
	if m.changed[e.Addr] || e.Addr.Kind() != addr.KindFile || o == nil || o.Type != image.Absent {
		return false
	}
	by := ""
	for _, s := range m.in.Desired {
		if !strings.HasPrefix(s.Path(), e.Addr.Path()+"/") {
			continue
		}
		if s.Verb == step.Rm && exists(m.in.Observed[s.Addr()].File()) || m.takesMade(s) {
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
