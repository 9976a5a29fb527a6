package plan

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// TreeFile is one path of a stored tree, relative to the root of the tree.
type TreeFile struct {
	Rel  string
	File image.File
}

// foundAt returns the image that a rollback restores at a path. If a directory above is restored with
// all of its content, with is that directory, and the image of the path is unknown. known is false if
// no run since the goal has changed the whole object at the path.
func (m *maker) foundAt(p string) (to image.File, with string, known bool) {
	if m.in.Goal == nil || len(m.in.Goal.FilesBefore) == 0 || p == "" {
		return to, "", false
	}
	if to, known = m.in.Goal.FilesBefore[p]; known {
		return to, "", true
	}
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		if f, ok := m.in.Goal.FilesBefore[d]; ok && replaced(f) {
			return to, d, true
		}
	}
	return to, "", false
}

// replaced reports whether a path that becomes f replaces everything below it. A directory that
// becomes absent does not, because it can contain files of others.
func replaced(f image.File) bool {
	return f.Tree != "" || f.Type != image.Directory && f.Type != image.Absent
}

// removeFound plans the removal of an address whose path is restored to the state that a run found. It
// returns false for any other address.
func (m *maker) removeFound(c Change, e journal.Entry) bool {
	to, with, known := m.foundAt(e.Addr.Path())
	if !known {
		return false
	}
	if err := m.stuckWith(with); err != nil {
		m.blocked(c, err)
		return true
	}
	if with != "" || e.Addr.Kind() != addr.KindFile {
		c.Action, c.Why = Forget, c.Why+"; "+m.comesWith(e.Addr, with)
		m.add(c)
		return true
	}
	if err := m.in.Failed[e.Addr]; err != nil && !m.unseen(e.Addr.Path()) {
		m.blocked(c, err)
		return true
	}
	c.From, c.To = m.pathNow(e.Addr.Path()), &image.Image{File: &to}
	m.tellByHand(&c, e)
	c.Differences = m.differences(*c.From, *c.To)
	if putBack(*c.From, *c.To) {
		c.Action, c.Why = Forget, c.Why+"; it is already as it was before"
	} else if err := errors.Join(m.separates(c), m.lacks(to, e.Addr.Path())); err != nil {
		m.blocked(c, err)
		return true
	}
	if c.Action == Remove && to.Type == image.Absent && (len(m.wantedIn(e.Addr.Path())) > 0 || m.holdsUnwanted(e.Addr.Path())) {
		m.hold(e.Addr.Path())
		m.last = append(m.last, c) // steps below it may first remove objects
		return true
	}
	m.inTurn(c)
	return true
}

// unmoved reports whether an entry is a part of a file that no run since the goal of a rollback has
// changed: a rollback only managed it again. Its origin is older than the goal.
func (m *maker) unmoved(e journal.Entry) bool {
	return m.in.Goal != nil && m.in.Goal.To > 0 && ownsPart(e.Addr) && !m.in.Goal.Moved[e.Addr.Path()]
}

// originOf returns the image that the removal of an entry restores. For a part of a file, a rollback
// to a run prefers the image that the next run found: the origin can be older than changes of others.
func (m *maker) originOf(e journal.Entry) image.Image {
	to := *e.Origin
	if before := m.then(e.Addr); before != nil && ownsPart(e.Addr) && (before.Region != nil) == (to.Region != nil) {
		to = *before
	}
	if e.Addr.Kind() == addr.KindMeta && to.File != nil { // the modification time belongs to the content
		f := *to.File
		f.MTime = 0
		to = image.Image{File: &f}
	}
	return to
}

func (m *maker) comesWith(a addr.Addr, with string) string {
	if with == "" {
		with = a.Path()
	}
	return with + " is restored as a whole"
}

// tellByHand notes that an address was changed outside of runs after fettle changed it, unless it
// already has its target state.
func (m *maker) tellByHand(c *Change, e journal.Entry) {
	if c.From.Same(*c.To) || !m.drifted(e, *c.From) {
		return
	}
	c.Drifted = true
	c.Why += "; changed by hand since run " + strconv.Itoa(e.Run)
}

// pathNow returns the observed image of a path. It returns an absent image if the path leads through a
// link that this plan replaces.
func (m *maker) pathNow(p string) *image.Image {
	now := m.in.Observed[addr.File(p)]
	if now.File == nil || m.unseen(p) {
		now = image.Image{File: &image.File{Type: image.Absent}}
	}
	return &now
}

// unseen reports whether this plan replaces a link in a path. Then the observed image of the path does
// not count, because the new directory has no such entry.
func (m *maker) unseen(p string) bool {
	if m.behindLink(step.Step{Verb: step.Rm, Args: []string{p}}) {
		return true
	}
	for d := path.Dir(p); m.in.Goal != nil && d != "/" && d != "."; d = path.Dir(d) {
		to, known := m.in.Goal.FilesBefore[d]
		now := m.in.Observed[addr.File(d)].File
		if known && to.Type == image.Directory && now != nil && now.Type == image.Symlink {
			return true
		}
	}
	return false
}

// inTurn adds a change of a path, or delays it until the step of its directory is planned.
func (m *maker) inTurn(c Change) {
	if c.To.File.Type == image.Absent {
		m.add(c)
		return
	}
	for d := path.Dir(c.Addr.Path()); d != "/" && d != "."; d = path.Dir(d) {
		if m.wanted[addr.File(d)] {
			m.after[d] = append(m.after[d], c)
			return
		}
	}
	m.add(c)
}

// below adds the changes that waited for a directory, parents first.
func (m *maker) below(dir string) {
	waiting := m.after[dir]
	delete(m.after, dir)
	slices.SortStableFunc(waiting, func(a, b Change) int { return strings.Compare(a.Addr.Path(), b.Addr.Path()) })
	for _, c := range waiting {
		m.add(c)
	}
}

// stepFound plans a step of a rollback whose path is restored to the state that a run found. It
// returns false for any other step.
func (m *maker) stepFound(s step.Step, by addr.Addr) bool {
	to, with, known := m.foundAt(s.Path())
	if !known {
		return false
	}
	a := s.Addr()
	e, applied := m.now[a]
	c := Change{Addr: a, Step: s.String(), Source: s.Source, PurgedBy: by}
	if applied {
		c.Applied = e.Step
	}
	if err := m.stuckWith(with); err != nil {
		m.refuse(s, by, err)
		return true
	}
	if with != "" || a.Kind() != addr.KindFile {
		c.Action, c.Why = Adopt, m.comesWith(a, with)
		m.changed[a] = m.changed[a] || m.changed[addr.File(s.Path())] || with != "" && m.changed[addr.File(with)]
		m.addUnlessSame(c, applied && e.Step == c.Step)
		return true
	}
	if err := m.in.Failed[a]; err != nil && !m.unseen(s.Path()) {
		if _, later := m.later(err); !later {
			m.refuse(s, by, err)
			return true
		}
	}
	c.Action, c.Why, c.Captured = Restore, "as it was "+m.when(), true
	c.From, c.To = m.pathNow(s.Path()), &image.Image{File: &to}
	if applied {
		m.tellByHand(&c, e)
	}
	c.Differences = m.differences(*c.From, *c.To)
	c.Note = linked(*c.From)
	if putBack(*c.From, *c.To) {
		c.Action, c.Why, c.Captured, c.Differences = Adopt, "already as it was", false, nil
		m.addUnlessSame(c, applied && e.Step == c.Step)
	} else if err := errors.Join(m.separates(c), m.lacks(to, s.Path())); err != nil {
		m.refuse(s, by, err)
		return true
	} else {
		m.add(c)
	}
	if to.Type == image.Directory {
		m.purge(s, *c.From)
	}
	m.below(s.Path())
	return true
}

// untouched skips a path that no run since the goal of a rollback has changed: the rollback does not
// undo changes of others.
func (m *maker) untouched(s step.Step) bool {
	if !m.passesOver(s) {
		return false
	}
	m.p.Unchanged++
	m.below(s.Path())
	return true
}

// passesOver reports whether untouched applies to a step.
func (m *maker) passesOver(s step.Step) bool {
	a := s.Addr()
	e, applied := m.now[a]
	return m.in.Goal != nil && isPath(a) && applied && e.Step == s.String() && e.Run <= m.in.Goal.To && m.then(a) == nil &&
		!m.underneath(s) && !m.renumbered(s) && !m.holdsFound(s.Path()) && !m.rearranged(s)
}

func (m *maker) addUnlessSame(c Change, same bool) {
	if same {
		m.p.Unchanged++
		return
	}
	m.add(c)
}

// others restores the found state at paths that are managed neither now nor in the goal.
func (m *maker) others() {
	if m.in.Goal == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(m.in.Goal.FilesBefore)) {
		a := addr.File(p)
		if _, now := m.now[a]; now || m.wanted[a] || m.purgedThen[a] {
			continue
		}
		if to, _, _ := m.foundAt(p); !m.swallowed(p) {
			m.restore(p, to, "as it was "+m.when())
		}
	}
}

// swallowed reports whether a directory above the path is replaced by another type of object, or
// restored with all of its content.
func (m *maker) swallowed(p string) bool {
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		stays := m.in.ForeignPaths[d] != "" // the directory stays for the files of others in it
		if f, ok := m.in.Goal.FilesBefore[d]; ok && (f.Type != image.Directory && !(f.Type == image.Absent && stays) || f.Tree != "") {
			return true // the path is restored or removed with the directory
		}
	}
	return false
}

// restore plans that an unmanaged path gets an earlier image. A directory that becomes absent stays if
// others have files in it.
func (m *maker) restore(p string, to image.File, why string) {
	if to.Type == image.Absent && m.in.ForeignPaths[p] != "" {
		return
	}
	a := addr.File(p)
	c := Change{Action: Restore, Addr: a, Why: why, From: m.pathNow(p), To: &image.Image{File: &to}, Captured: true}
	c.Applied = step.Step{Verb: step.Rm, Args: []string{p}}.String()
	if to.Type == image.Directory {
		c.Applied = step.Step{Verb: step.Mkdir, Args: []string{p}}.String()
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
		m.blocked(c, err)
	default:
		c.Differences = m.differences(*c.From, *c.To)
		m.inTurn(c)
	}
}

// removeAround plans the removal of an address whose origin is a directory with content, if its path
// is a directory now. Missing or different entries are restored in it; entries of the list and of
// others stay.
func (m *maker) removeAround(c Change, e journal.Entry) {
	tree := c.To.File.Tree
	for _, k := range m.missingOf(c.Addr.Path(), tree) {
		if err := m.displaces(k.File, path.Join(c.Addr.Path(), k.Rel)); err != nil {
			m.blocked(c, err)
			return
		}
	}
	alone := *c.To.File
	alone.Tree = ""
	c.To = &image.Image{File: &alone}
	c.Differences = m.differences(*c.From, *c.To)
	m.tellByHand(&c, e)
	if c.From.Same(*c.To) {
		c.Action, c.Why = Forget, c.Why+"; it is already as it was before"
	}
	m.add(c)
	m.keptBelow(c.Addr.Path(), tree)
}

// keptBelow restores the paths of a stored tree below a directory. It skips paths with an address of
// their own, and paths that are restored as a run found them.
func (m *maker) keptBelow(dir, tree string) {
	for _, k := range m.missingOf(dir, tree) {
		m.restore(path.Join(dir, k.Rel), k.File, "as it was before fettle removed "+dir)
	}
}

// missingOf returns the paths of a stored tree that keptBelow restores.
func (m *maker) missingOf(dir, tree string) []TreeFile {
	if m.in.StoredTree == nil || m.replacedAbove(dir) {
		return nil
	}
	return slices.DeleteFunc(m.in.StoredTree(tree), func(k TreeFile) bool {
		p := path.Join(dir, k.Rel)
		e, now := m.now[addr.File(p)]
		_, _, found := m.foundAt(p)
		return now && !goneBefore(e) || found || m.paths[p] || m.wanted[addr.File(p)] || m.ownedAbove(dir, p)
	})
}

// goneBefore reports whether a path was absent when it became managed, and no run has changed it
// since. If fettle had removed it with a directory, the stored tree contains it.
func goneBefore(e journal.Entry) bool {
	return e.Origin == nil && e.Adopted != nil && absent(*e.Adopted)
}

// ownedAbove reports whether a path between dir and p has an owner other than the stored tree and is
// not a directory.
func (m *maker) ownedAbove(dir, p string) bool {
	for d := path.Dir(p); d != dir && d != "/" && d != "."; d = path.Dir(d) {
		if !m.wanted[addr.File(d)] {
			continue
		}
		for _, s := range m.in.Wanted {
			if s.Path() == d && s.Verb != step.Edit && s.Verb != step.Meta {
				return s.Verb != step.Mkdir || s.Get("purge") == "true"
			}
		}
	}
	return false
}

// linked returns the note for a file with several hard links.
func linked(now image.Image) string {
	if f := now.File; f != nil && f.Nlink > 1 && f.Type == image.Regular {
		return "it has " + strconv.FormatUint(f.Nlink, 10) + " hard links"
	}
	return ""
}
