package plan

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// leaving lists what is applied and no longer wanted, last applied first. What goes from a
// directory that goes too comes before the directory: after a run that failed, the
// entries that its list no longer had are in front of the others, whatever they are in.
func (m *maker) leaving() []journal.Entry {
	var all, out []journal.Entry
	for i := len(m.in.Applied.Entries) - 1; i >= 0; i-- {
		if e := m.in.Applied.Entries[i]; !m.wanted[e.Addr] && !m.purgedThen[e.Addr] {
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

// inside lists, for each directory that goes, what goes from it, last applied first and
// what is deeper before what is above it.
func (m *maker) inside(all []journal.Entry) map[addr.Addr][]journal.Entry {
	dirs := map[addr.Addr]bool{}
	for _, e := range all {
		dirs[e.Addr] = e.Addr.Kind() == addr.KindFile && m.vanishes(e)
	}
	inside := map[addr.Addr][]journal.Entry{}
	for _, e := range all {
		if !m.vanishes(e) {
			continue
		}
		for d := path.Dir(e.Addr.Path()); d != "/" && d != "."; d = path.Dir(d) {
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

// vanishes tells whether nothing is at the path of an entry after its removal.
func (m *maker) vanishes(e journal.Entry) bool {
	if !isPath(e.Addr) {
		return false
	}
	if to, with, known := m.foundAt(e.Addr.Path()); known {
		return with == "" && to.Type == image.Absent
	}
	o := e.Origin
	return o != nil && (o.File != nil && o.File.Type == image.Absent || o.Region != nil && o.Region.FileAbsent)
}
