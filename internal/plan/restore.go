package plan

import (
	"maps"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// left adds the changes that waited for a directory without a planned step, and the directories that
// are removed after the steps in them.
func (m *restoration) left() {
	for _, dir := range slices.Sorted(maps.Keys(m.after)) {
		m.below(dir)
	}
	slices.SortStableFunc(m.last, func(a, b Change) int {
		return strings.Count(b.Addr.Path(), "/") - strings.Count(a.Addr.Path(), "/")
	})
	for _, c := range m.last {
		if c.Action == Restore && m.keepsObject(c.Addr.Path()) {
			c.Action, c.Why, c.Captured, c.Differences = Adopt, "a path in it stays, so it is left unchanged", false, nil
			e, applied := m.now[c.Addr]
			m.addUnlessSame(c, applied && e.Step.Same(c.Step))
			continue
		}
		m.add(c)
	}
}

// keepsObject reports whether a rollback leaves an object of the list below a directory that was absent at the goal:
// others had removed both, and a later run repaired only the object.
func (m *index) keepsObject(dir string) bool {
	return slices.ContainsFunc(m.in.Desired, func(s step.Step) bool {
		return strings.HasPrefix(s.Path(), dir+"/") && m.staysThen(s)
	})
}

// staysThen reports whether the object at the path of a step exists now and existed at the goal of a rollback.
func (m *index) staysThen(s step.Step) bool {
	p, now, then := s.Path(), m.in.Observed[s.Addr()], m.then(s.Addr())
	f, found := m.in.Goal.FilesBefore[p]
	w, edited := m.in.Goal.Edited[p]
	switch {
	case found && f.Type == image.Absent, edited && w.To.Type == image.Absent, s.Verb == step.Rm,
		s.Verb == step.Edit && s.Absent():
		return false
	case then != nil && then.Region() != nil && then.Region().FileAbsent && !then.Region().Present:
		return false
	case then != nil && then.File() != nil && then.Absent():
		return false
	}
	return exists(now.File()) || now.Region() != nil && !now.Region().FileAbsent
}

// inTurn adds a change of a path, or delays it until the step of its directory is planned.
func (m *restoration) inTurn(c Change) { m.inTurnIn("/", c) }

// inTurnIn is inTurn for a path below top. It waits only for a directory below top.
func (m *restoration) inTurnIn(top string, c Change) {
	if c.To.File() != nil && c.To.Absent() {
		m.add(c)
		return
	}
	for d := range parents(c.Addr.Path()) {
		if d == top {
			break
		}
		if m.wanted[addr.File(d)] {
			m.after[d] = append(m.after[d], c)
			return
		}
	}
	m.add(c)
}

// below adds the changes that waited for a directory, parents first.
func (m *restoration) below(dir string) {
	waiting := m.after[dir]
	delete(m.after, dir)
	slices.SortStableFunc(waiting, func(a, b Change) int { return strings.Compare(a.Addr.Path(), b.Addr.Path()) })
	for _, c := range waiting {
		m.add(c)
	}
}

// others restores the found state at paths that are managed neither now nor in the goal.
func (m *restoration) others() {
	if m.in.Goal == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(m.in.Goal.FilesBefore)) {
		a := addr.File(p)
		if _, now := m.now[a]; now || m.wanted[a] || m.purgedThen(a) {
			continue
		}
		if to, _, _ := m.foundAt(p); !m.swallowed(p) {
			m.restore(p, to, "as it was "+m.when())
		}
	}
}

// swallowed reports whether a directory above the path is replaced by another type of object, or
// restored with all of its content.
func (m *index) swallowed(p string) bool {
	for d := range parents(p) {
		f, ok := m.in.Goal.FilesBefore[d]
		stays := f.Type == image.Absent && (m.in.ForeignPaths[d] != "" || m.goesEmpty(d)) // until it is empty
		if ok && (f.Type != image.Directory && !stays || f.Tree != "") {
			return true // the path is restored or removed with the directory
		}
	}
	return false
}

// goesEmpty reports whether a plan removes a directory only after everything in it: it is managed.
func (m *index) goesEmpty(dir string) bool {
	a := addr.File(dir)
	if m.wanted[a] {
		return m.makes(dir)
	}
	return m.now[a].Step.Verb == step.Mkdir && !m.purgedThen(a)
}

// createdIn reports whether a rollback removes a path below a directory that is not managed.
func (m *index) createdIn(dir string) bool {
	for p, f := range m.in.Goal.FilesBefore {
		if _, now := m.now[addr.File(p)]; !now && f.Type == image.Absent && strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// restore plans that an unmanaged path gets an earlier image. A directory that becomes absent stays if
// others have files in it.
func (m *restoration) restore(p string, to image.File, why string) { m.restoreIn("/", p, to, why) }

// restoreIn is restore for a path below top, which exists when the change runs. The change waits only for
// steps below top: another step may purge top later.
func (m *restoration) restoreIn(top, p string, to image.File, why string) {
	if to.Type == image.Absent && m.in.ForeignPaths[p] != "" {
		return
	}
	a := addr.File(p)
	c := Change{Action: Restore, Addr: a, Why: why, From: m.pathNow(p), To: new(image.Of(&to)), Captured: true}
	c.Applied = step.Step{Verb: step.Rm, Args: []string{p}}.Stored()
	if to.Type == image.Directory {
		c.Applied = step.Step{Verb: step.Mkdir, Args: []string{p}}.Stored()
	}
	err := m.in.Failed[a]
	if err == nil || m.unseen(p) {
		err = m.separates(c)
	}
	if err == nil {
		err = m.lacks(to, p)
	}
	switch {
	case putBack(*c.From, *c.To) && err == nil:
	case err != nil:
		m.refusals.blocked(c, err)
	default:
		c.Differences = c.To.Differences(*c.From, m.in.Rules)
		m.inTurnIn(top, c)
	}
}

// keptBelow restores the paths of a stored tree below a directory. It skips paths with an address of
// their own, and paths that are restored as a run found them.
func (m *restoration) keptBelow(dir, tree string) {
	for _, k := range m.missingOf(dir, tree) {
		m.restoreIn(path.Dir(dir), path.Join(dir, k.Rel), k.File, "as it was before fettle removed "+dir)
	}
}

// missingOf returns the paths of a stored tree that keptBelow restores. If the list removes a directory above, the
// removal stores them as a part of its origin. Objects that others have at these paths are then removed unchanged.
func (m *restoration) missingOf(dir, tree string) []TreeFile {
	goes, stored := m.goesWith(dir)
	if m.in.StoredTree == nil || stored || m.replacedAbove(dir) {
		return nil
	}
	return slices.DeleteFunc(m.in.StoredTree(tree), func(k TreeFile) bool {
		p := path.Join(dir, k.Rel)
		e, now := m.now[addr.File(p)]
		_, _, found := m.foundAt(p)
		theirs := goes && m.displaces(k.File, p) != nil
		owned := now && !goneBefore(e) || m.wanted[addr.File(p)] || m.ownedAbove(dir, p)
		return owned || found || theirs || m.refusals.paths[p]
	})
}

// goneBefore reports whether a path was absent when it became managed, and no run has changed it
// since. If fettle had removed it with a directory, the stored tree contains it.
func goneBefore(e journal.Entry) bool {
	return e.Origin == nil && e.Adopted != nil && e.Adopted.Absent()
}

// ownedAbove reports whether a path between dir and p has an owner other than the stored tree and is
// not a directory.
func (m *index) ownedAbove(dir, p string) bool {
	for d := range parents(p) {
		if d == dir {
			return false
		}
		if !m.wanted[addr.File(d)] {
			continue
		}
		for _, s := range m.in.Desired {
			if s.Path() == d && s.Verb != step.Edit && s.Verb != step.Meta {
				return s.Verb != step.Mkdir || s.Get("purge") == "true"
			}
		}
	}
	return false
}

// replacedAbove reports whether the list requires a file or a link above a path.
func (m *index) replacedAbove(p string) bool {
	return slices.ContainsFunc(m.in.Desired, func(s step.Step) bool {
		return (s.Verb == step.Copy || s.Verb == step.Link) && strings.HasPrefix(p, s.Path()+"/")
	})
}

// goesWith reports whether the list removes a directory above a path, and whether an earlier run has stored the
// content of this directory already.
func (m *index) goesWith(p string) (goes, stored bool) {
	for _, s := range m.in.Desired {
		if s.Verb == step.Rm && strings.HasPrefix(p, s.Path()+"/") {
			o := m.now[s.Addr()].Origin
			return true, o != nil && o.File() != nil && o.File().Tree != ""
		}
	}
	return false, false
}
