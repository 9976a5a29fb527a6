package plan

import (
	"errors"
	"path"
	"slices"
	"strconv"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// removals plans the removal of the entries that left the list.
func (m *maker) removals() {
	var later []journal.Entry
	early := map[addr.Addr]bool{}
	for _, e := range m.leaving() {
		if _, with, known := m.foundAt(e.Addr.Path()); e.PurgedBy != "" && m.purging(e.PurgedBy) && (!known || with != "") {
			continue
		}
		if f, ok := m.now[addr.File(e.Addr.Path())]; ok && ownsPart(e.Addr) && !m.wanted[f.Addr] && e.FirstRun < f.FirstRun && f.Origin != nil {
			later = append(later, e) // it owns a part of the earlier file
			continue
		}
		if m.madeAfterPurge(e) {
			c := Change{Action: Forget, Addr: e.Addr, Applied: e.Step, Source: e.Src, Why: "it is a part of a file that the restored purged file replaces"}
			m.add(c)
			continue
		}
		for _, up := range m.lostAbove(e, early) {
			m.remove(up)
		}
		if !early[e.Addr] {
			m.remove(e)
		}
	}
	for _, e := range later {
		m.remove(e)
	}
}

// madeAfterPurge reports whether an entry is a part of a file that was created after a purge removed
// the file of others at its path. This plan restores that file, so the removal of the part would
// change a file that fettle does not manage.
func (m *maker) madeAfterPurge(e journal.Entry) bool {
	f, ok := m.now[addr.File(e.Addr.Path())]
	return ok && ownsPart(e.Addr) && f.PurgedBy != "" && f.FirstRun <= e.FirstRun && m.changed[f.Addr]
}

// lostAbove returns the directories above a restored path that are also restored and are not
// directories now, from the top. They are removed before the path.
func (m *maker) lostAbove(e journal.Entry, early map[addr.Addr]bool) []journal.Entry {
	var out []journal.Entry
	if e.Addr.Kind() != addr.KindFile || e.Origin == nil || e.Origin.File == nil || e.Origin.File.Type == image.Absent {
		return nil
	}
	for d := path.Dir(e.Addr.Path()); d != "/" && d != "."; d = path.Dir(d) {
		a := addr.File(d)
		up, managed := m.now[a]
		now := m.in.Observed[a].File
		if !managed || m.wanted[a] || early[a] || now == nil || now.Type == image.Directory ||
			up.Origin == nil || up.Origin.File == nil || up.Origin.File.Type != image.Directory || up.Origin.File.Tree != "" {
			continue
		}
		early[a] = true
		out = append([]journal.Entry{up}, out...)
	}
	return out
}

// ownsPart reports whether an address is a part of the object at a path.
func ownsPart(a addr.Addr) bool { return a.Kind() == addr.KindEdit || a.Kind() == addr.KindMeta }

// purging reports whether a directory is in the list with purge.
func (m *maker) purging(dir addr.Addr) bool {
	for _, s := range m.in.Wanted {
		if s.Verb == step.Mkdir && s.Addr() == dir {
			return s.Get("purge") == "true"
		}
	}
	return false
}

func (m *maker) remove(e journal.Entry) {
	c := Change{Action: Remove, Addr: e.Addr, Applied: e.Step, Source: e.Src, Why: "no longer in the list"}
	if m.in.Goal != nil {
		c.Why = "not managed " + m.when()
	}
	if isPath(e.Addr) && m.removeFound(c, e) {
		return
	}
	if m.unmoved(e) {
		c.Action, c.Why = Forget, c.Why+"; no run has changed it since, so it stays"
		m.add(c)
		return
	}
	if e.Origin == nil {
		c.Action, c.Why = Forget, c.Why+"; "+m.untouchedSince(e)
		m.add(c)
		return
	}
	s := parse(e.Step)
	if s.Verb == step.Exec { // its undo runs regardless of its guards
		m.removeExec(c, e)
		return
	}
	if m.stays(c, e) || m.postponed(e) {
		return
	}
	from, to := m.in.Observed[e.Addr], m.originOf(e)
	if why := undressed(e, from, to, m.leaves); why != "" {
		c.Action, c.Why = Forget, c.Why+"; "+why
		m.add(c)
		return
	}
	if err := noFileLeft(e, m.leaves); err != nil {
		m.blocked(c, err)
		return
	}
	c.From, c.To = &from, &to
	others := m.holdsOthers(e.Addr.Path(), from)
	if dir := m.purgedBy(e.Addr); dir != "" && !m.paths[e.Addr.Path()] && to.File != nil && (to.File.Type != image.Absent || others) {
		c.Action, c.PurgedBy, c.Step = Purge, dir, step.Step{Verb: step.Rm, Args: []string{e.Addr.Path()}}.String()
		c.To = &image.Image{File: &image.File{Type: image.Absent}}
		c.Why += ", and its directory is purged"
	}
	if to.File != nil && to.File.Tree != "" && from.File != nil && from.File.Type == image.Directory && c.Action == Remove {
		m.removeAround(c, e)
		return
	}
	c.Differences = m.differences(*c.From, *c.To)
	m.tellByHand(&c, e)
	if putBack(from, *c.To) && !m.takesFile(from, to, e.Addr.Path()) {
		c = alreadyRemoved(c)
	}
	if err := errors.Join(m.separates(c), m.occupied(c)); err != nil && c.Action.Mutates() {
		m.blocked(c, err)
		return
	}
	m.remain[e.Addr.Path()] = others && c.Action == Remove && to.File != nil && to.File.Type == image.Absent
	m.removeInTurn(c)
}

// alreadyRemoved returns the change of an object that has the image of its removal already.
func alreadyRemoved(c Change) Change {
	if c.Action == Purge { // the earlier content is stored with the directory
		c.Action, c.Why = Adopt, c.Why+"; it is already gone"
	} else {
		c.Action, c.Why = Forget, c.Why+"; it is already as it was before"
	}
	return c
}

// removeInTurn adds a removal, or delays it until a directory that it needs exists.
func (m *maker) removeInTurn(c Change) {
	if c.To.Region != nil && c.To.Region.FileAbsent {
		m.going[c.Addr.Path()] = true
	}
	if m.awaits(c) {
		m.inTurn(c)
		return
	}
	m.add(c)
}

// holdsOthers reports whether a removed directory contains a path that this plan does not remove.
func (m *maker) holdsOthers(p string, now image.Image) bool {
	if now.File == nil || now.File.Type != image.Directory {
		return false
	}
	return slices.ContainsFunc(now.File.Entries, func(name string) bool {
		q := path.Join(p, name)
		return m.remain[q] || !m.changed[addr.File(q)] && !m.going[q]
	})
}

// untouchedSince returns why an address that fettle found in sync stays. It can be attributed to the
// time before fettle only if no package or command that fettle ran until then can have created it.
func (m *maker) untouchedSince(e journal.Entry) string {
	if goneBefore(e) && m.goneWithTree(e.Addr.Path()) {
		return "fettle removed it with a directory above it"
	}
	for _, o := range m.in.Applied.Entries {
		installed := o.Origin != nil && o.Origin.Package != nil && o.Origin.Package.Version == ""
		if o.FirstRun <= e.FirstRun && (installed || o.Addr.Kind() == addr.KindExec) {
			return "fettle did not change it, so there is nothing to undo"
		}
	}
	return "it was like this before fettle, so it stays"
}

// goneWithTree reports whether fettle removed a directory above a path with its content.
func (m *maker) goneWithTree(p string) bool {
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		if o := m.now[addr.File(d)].Origin; o != nil && o.File != nil && o.File.Tree != "" {
			return true
		}
	}
	return false
}

// putBack reports whether an image is identical to an earlier captured image, including the
// modification time. The time of a directory does not count, because it depends on its entries.
func putBack(now, then image.Image) bool {
	return now.Same(then) && (then.File == nil || then.File.Type == image.Directory || then.File.MTime == 0 || now.File.MTime == then.File.MTime)
}

func (m *maker) when() string {
	if m.in.Goal.To == 0 {
		return "before fettle"
	}
	return "after run " + strconv.Itoa(m.in.Goal.To)
}

func (m *maker) purgedBy(a addr.Addr) addr.Addr {
	if dir := addr.File(path.Dir(a.Path())); a.Kind() == addr.KindFile && m.purging(dir) {
		return dir
	}
	return ""
}

func (m *maker) restorePurged(e journal.Entry) {
	s := parse(e.Step)
	s.Source = e.Src
	m.stepBy(s, e.PurgedBy)
}

// purge removes the entries of a directory with purge that no step writes. A rollback does not purge:
// it restores each path that runs have changed since to the image that they found, and leaves all
// other paths unchanged.
func (m *maker) purge(s step.Step, now image.Image) {
	if s.Verb != step.Mkdir || s.Get("purge") != "true" || now.File == nil || m.in.Goal != nil {
		return
	}
	for _, name := range m.entries(s.Path(), *now.File) {
		p := path.Join(s.Path(), name)
		a := addr.File(p)
		if m.paths[p] || m.changed[a] || m.wanted[a] { // the step that removes it does so
			continue
		}
		c := Change{Action: Purge, Addr: a, PurgedBy: s.Addr(), Source: s.Source,
			Step: step.Step{Verb: step.Rm, Args: []string{p}}.String(),
			Why:  "no step writes it, and its directory is purged"}
		if m.now[s.Addr()].Step == s.String() && !m.in.Repair {
			c.Action, c.Drifted = Drift, true // it was created after the directory was applied
		}
		m.add(c)
	}
}

// entries returns the names in a directory: the existing names, or the names in a restored tree.
func (m *maker) entries(dir string, now image.File) []string {
	if m.in.StoredTree == nil || len(m.trees) == 0 {
		return now.Entries
	}
	rel := "."
	for p := dir; p != "/" && p != "."; p = path.Dir(p) {
		if tree := m.trees[p]; tree != "" {
			names := slices.Clone(now.Entries)
			for _, k := range m.in.StoredTree(tree) {
				if path.Dir(k.Rel) == rel {
					names = append(names, path.Base(k.Rel))
				}
			}
			slices.Sort(names)
			return slices.Compact(names)
		}
		rel = path.Join(path.Base(p), rel)
	}
	return now.Entries
}

// isPath reports whether an address is a path, or a part of the object at a path.
func isPath(a addr.Addr) bool {
	return a.Kind() == addr.KindFile || ownsPart(a)
}

// takesFile reports whether the removal of a region also removes its file, which was absent before
// fettle and has no other content now.
func (m *maker) takesFile(from, to image.Image, p string) bool {
	return from.Region != nil && to.Region != nil && from.Region.Leaves(*to.Region) && !m.sharedRegion(p) && !m.wanted[addr.New(addr.KindMeta, p)]
}
