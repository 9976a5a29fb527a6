package plan

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// leaving returns the entries that left the list, in reverse order of application. Entries in a
// directory that is also removed, or replaced by a file, come before the directory. Their recorded
// order is not reliable: a failed run puts the entries that left the list in front.
func (m *removals) leaving() []journal.Entry {
	var all, out []journal.Entry
	for i := len(m.in.Applied.Entries) - 1; i >= 0; i-- {
		if e := m.in.Applied.Entries[i]; !m.wanted[e.Addr] && !m.purgedThen(e.Addr) {
			all = append(all, e)
		}
	}
	inside, taken := m.inside(all), map[addr.Addr]bool{}
	for _, e := range all {
		for _, in := range append(inside[e.Addr], e) {
			if !taken[in.Addr] {
				taken[in.Addr] = true
				out = append(out, in)
			}
		}
	}
	return out
}

// inside returns, for each removed directory, its removed entries: deeper paths first, otherwise in
// reverse order of application.
func (m *removals) inside(all []journal.Entry) map[addr.Addr][]journal.Entry {
	dirs := map[addr.Addr]bool{}
	for _, e := range all {
		dirs[e.Addr] = e.Addr.Kind() == addr.KindFile && m.ends(e)
	}
	inside := map[addr.Addr][]journal.Entry{}
	for _, e := range all {
		if !m.vanishes(e) {
			continue
		}
		for d := range parents(e.Addr.Path()) {
			if a := addr.File(d); dirs[a] {
				inside[a] = append(inside[a], e)
			}
		}
	}
	for _, in := range inside {
		slices.SortStableFunc(in, func(a, b journal.Entry) int {
			return strings.Count(b.Addr.Path(), "/") - strings.Count(a.Addr.Path(), "/")
		})
	}
	return inside
}

// vanishes reports whether the path of an entry is absent after its removal.
func (m *removals) vanishes(e journal.Entry) bool {
	to, known := m.typeAfter(e)
	return known && to == image.Absent
}

// ends reports whether the path of an entry is not a directory after its removal.
func (m *removals) ends(e journal.Entry) bool {
	to, known := m.typeAfter(e)
	return known && to != image.Directory
}

// typeAfter returns the type of the path of an entry after its removal. The type is unknown if a
// directory above restores the path, or if the entry stays.
func (m *removals) typeAfter(e journal.Entry) (to image.FileType, known bool) {
	if !isPath(e.Addr) {
		return "", false
	}
	if to, with, found := m.foundAt(e.Addr.Path()); found {
		return to.Type, with == ""
	}
	switch o := e.Origin; {
	case o == nil:
	case o.File() != nil:
		return o.File().Type, true
	case o.Region() != nil && o.Region().FileAbsent:
		return image.Absent, true
	}
	return "", false
}
