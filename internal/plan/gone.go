package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// noteLeft records the object that a change leaves at its path.
func (m *maker) noteLeft(c Change) {
	p, left := c.Addr.Path(), image.Regular
	switch {
	case !isPath(c.Addr):
		m.elsewhere = true
		return
	case m.outlives(c):
		left = image.Directory
	case c.To != nil && c.To.File != nil:
		left = c.To.File.Type
	case c.To != nil && c.To.Region != nil && !c.To.Region.Present && c.To.Region.FileAbsent && !m.sharedRegion(p):
		left = image.Absent
	}
	m.leaves[p] = left
	m.swept[p] = left == image.Absent && c.Action != Remove // a removed directory stays if it is not empty
}

// outlives reports whether a directory stays despite its removal, because it contains files of others.
func (m *maker) outlives(c Change) bool {
	if c.Action != Remove || c.From == nil || c.From.File == nil || c.From.File.Type != image.Directory || c.To.File.Type != image.Absent {
		return false
	}
	return len(m.withoutOurs(step.Step{Verb: step.Rm, Args: []string{c.Addr.Path()}}, *c.From).File.Entries) > 0
}

// sharedRegion reports whether a file stays because a region in it is both applied and in the list.
func (m *maker) sharedRegion(p string) bool {
	for a := range m.now {
		if a.Kind() == addr.KindEdit && a.Path() == p && m.wanted[a] {
			return true
		}
	}
	return false
}

// removed reports whether a step concerns a part of a file that this plan first removes or replaces by
// an object that cannot be edited. The observed image is then invalid.
func (m *maker) removed(s step.Step) bool {
	if m.in.Goal != nil || s.Verb != step.Edit && s.Verb != step.Meta {
		return false
	}
	if left, ok := m.leaves[s.Path()]; ok && s.Verb == step.Edit && left != image.Regular {
		return true
	}
	if left, ok := m.leaves[s.Path()]; ok && left == image.Absent {
		return true
	}
	for p := path.Dir(s.Path()); p != "/" && p != "."; p = path.Dir(p) {
		if m.swept[p] {
			return true
		}
	}
	return false
}

// uneditable returns an error for an edit of a path at which this plan leaves another type of object
// than a file.
func (m *maker) uneditable(s step.Step) error {
	left, changes := m.leaves[s.Path()]
	if s.Verb != step.Edit || m.in.Goal != nil {
		return nil
	}
	if !changes {
		left = restoredIn(s.Path(), m.changed, m.trees, m.in.StoredTree)
	}
	if left == image.Regular || left == image.Absent {
		return nil
	}
	if changes && left == image.Directory && m.now[addr.File(s.Path())].Origin.File.Type == image.Absent {
		return fmt.Errorf("cannot edit %q: it is a directory that no step declares any more; it stays because it contains other files; move these away first", s.Path())
	}
	return fmt.Errorf("cannot edit %q: no step declares this path any more, so this run restores the %s from before fettle", s.Path(), left)
}

// restoredIn returns the type of a path in a directory that a plan restores with its content, if the plan
// changes no directory between. It is Absent for any other path.
func restoredIn(p string, changed map[addr.Addr]bool, trees map[string]string, kept func(string) []TreeFile) image.FileType {
	d := path.Dir(p)
	for d != "/" && d != "." && !changed[addr.File(d)] {
		d = path.Dir(d)
	}
	if kept == nil || trees[d] == "" {
		return image.Absent
	}
	for _, k := range kept(trees[d]) {
		if path.Join(d, k.Rel) == p {
			return k.File.Type
		}
	}
	return image.Absent
}

// undressed returns the reason if recorded metadata cannot be restored, or "". The path no longer
// exists, or another user put another type of file there.
func undressed(e journal.Entry, from, to image.Image, leaves map[string]image.FileType) string {
	if e.Addr.Kind() != addr.KindMeta || from.File == nil || to.File == nil {
		return ""
	}
	if from.File.Type == image.Absent {
		return "its path no longer exists"
	}
	now := from.File.Type
	if left, changes := leaves[e.Addr.Path()]; changes && left != image.Absent {
		now = left
	}
	if now != to.File.Type {
		return fmt.Sprintf("others replaced the %s at its path by a %s", to.File.Type, now)
	}
	return ""
}

// noFileLeft returns an error for an edit that leaves the list, if this plan restores a directory or a
// link at its path.
func noFileLeft(e journal.Entry, leaves map[string]image.FileType) error {
	left, changes := leaves[e.Addr.Path()]
	if e.Addr.Kind() != addr.KindEdit || !changes || left == image.Regular || left == image.Absent {
		return nil
	}
	return fmt.Errorf("cannot edit %q: this run restores the %s that others had there; move it away first", e.Addr.Path(), left)
}

// canBring reports whether an earlier change can create the file that a step needs. A step of the
// path, a tree or link above it, or a change that is not a path can create it.
func (m *maker) canBring(s step.Step, now image.Image) bool {
	there := now.Region != nil && !now.Region.FileAbsent || now.File != nil && now.File.Type != image.Absent
	if s.Verb != step.Edit && s.Verb != step.Meta || there || m.elsewhere || m.behindLink(s) {
		return true
	}
	for p := path.Dir(s.Path()); p != "/" && p != "."; p = path.Dir(p) {
		if m.trees[p] != "" {
			return true
		}
	}
	left, known := m.leaves[s.Path()]
	return known && (left == image.Regular || s.Verb == step.Meta && left != image.Absent)
}

// orRemoved adds to an error about a missing file that this plan removes the file.
func orRemoved(err error, removed bool) error {
	if !removed {
		return err
	}
	return fmt.Errorf("%w (it exists now, and this run removes or replaces it, since no step declares it any more)", err)
}

// occupied returns an error for a restored path that other objects block: a directory with files of
// others at the path, or another type of object than a directory above it.
func (m *maker) occupied(c Change) error {
	if m.makesFile(c) {
		return m.lacksDirectory(c.Addr.Path())
	}
	if c.To == nil || c.To.File == nil || c.To.File.Type == image.Absent {
		return nil
	}
	p := c.Addr.Path()
	if now := c.From; c.To.File.Type != image.Directory && now.File != nil && now.File.Type == image.Directory {
		if left := m.withoutOurs(step.Step{Verb: step.Rm, Args: []string{p}}, *now); len(left.File.Entries) > 0 {
			return holdsForeign(p, left.File.Entries[0])
		}
	}
	return m.lacksDirectory(p)
}

// makesFile reports whether the change of a region creates its file again.
func (m *maker) makesFile(c Change) bool {
	return c.From != nil && c.From.Region != nil && c.From.Region.FileAbsent && c.To != nil && c.To.Region != nil && c.To.Region.Present
}

// lacksDirectory returns an error for a restored path whose directory does not exist and is not
// created by this plan, or is replaced by it.
func (m *maker) lacksDirectory(p string) error {
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		a := addr.File(d)
		now := m.in.Observed[a].File
		left, leaves := m.leaves[d]
		switch {
		case leaves && left != image.Directory && left != image.Absent:
			return fmt.Errorf("cannot restore %q: this run restores the %s that others had at %q; move it away first", p, left, d)
		case now == nil || now.Type == image.Directory || m.changed[a] || m.comesBack(d):
		case now.Type == image.Absent:
			return fmt.Errorf("cannot restore %q: the directory %q does not exist; create it first", p, d)
		default:
			return fmt.Errorf("cannot restore %q: %q is not a directory now; move it away first", p, d)
		}
	}
	return nil
}

// lacks returns an error for a path that cannot become to, because files of others are in its place or
// its directory does not exist.
func (m *maker) lacks(to image.File, p string) error {
	if to.Type == image.Absent {
		return nil
	}
	return errors.Join(m.displaces(to, p), m.lacksDirectory(p))
}

// displaces returns an error for a path that would become to, but is a directory with files of others.
func (m *maker) displaces(to image.File, p string) error {
	if first := m.in.ForeignPaths[p]; first != "" && to.Type != image.Directory {
		return holdsForeign(p, first)
	}
	return nil
}

// holdsForeign returns the error for a directory that would be replaced, but contains files of others.
func holdsForeign(dir, name string) error {
	return fmt.Errorf("cannot replace the directory %q: it contains files that fettle does not manage, such as %q; move them away first",
		dir, name)
}

// stuckWith returns an error for a path in a directory that cannot be replaced, if blocked addresses
// stay unchanged.
func (m *maker) stuckWith(dir string) error {
	if first := m.in.ForeignPaths[dir]; dir != "" && first != "" && m.in.SkipBlocked {
		return holdsForeign(dir, first)
	}
	return nil
}

// comesBack reports whether a later change of this plan creates a directory.
func (m *maker) comesBack(dir string) bool {
	if m.in.Goal == nil {
		return m.makes(dir)
	}
	if f, found := m.in.Goal.FilesBefore[dir]; found {
		return f.Type == image.Directory
	}
	i := m.making(dir)
	return i >= 0 && !m.passesOver(m.in.Wanted[i]) && !m.onlyManages(m.in.Wanted[i], "")
}

// makes reports whether a step of the list creates a directory.
func (m *maker) makes(dir string) bool { return m.making(dir) >= 0 }

// making returns the index of the step that creates a directory, or -1.
func (m *maker) making(dir string) int {
	return slices.IndexFunc(m.in.Wanted, func(s step.Step) bool { return s.Verb == step.Mkdir && s.Path() == dir })
}

// awaits reports whether a restored path needs a directory that a step creates.
func (m *maker) awaits(c Change) bool {
	if c.To == nil || c.To.File == nil || c.To.File.Type == image.Absent {
		return false
	}
	for d := path.Dir(c.Addr.Path()); d != "/" && d != "."; d = path.Dir(d) {
		if now := m.in.Observed[addr.File(d)].File; now != nil && now.Type != image.Directory && m.makes(d) {
			return true
		}
	}
	return false
}

// replacedAbove reports whether the list requires an object other than a directory above a path.
func (m *maker) replacedAbove(p string) bool {
	return slices.ContainsFunc(m.in.Wanted, func(s step.Step) bool {
		q := s.Path()
		return (s.Verb == step.Rm || s.Verb == step.Copy || s.Verb == step.Link) && strings.HasPrefix(p, q+"/")
	})
}

// holdsFound reports whether a rollback restores a path below a directory that does not exist now.
func (m *maker) holdsFound(dir string) bool {
	if now := m.in.Observed[addr.File(dir)].File; m.in.Goal == nil || now == nil || now.Type != image.Absent {
		return false
	}
	for p, f := range m.in.Goal.FilesBefore {
		if f.Type != image.Absent && strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}
