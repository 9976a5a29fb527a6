package plan

import (
	"errors"
	"fmt"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// uneditable returns an error for an edit of a path at which this plan leaves another type of object
// than a file.
func (m *forecast) uneditable(s step.Step) error {
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
	if changes && left == image.Directory && m.now[addr.File(s.Path())].Origin.File().Type == image.Absent {
		return fmt.Errorf("cannot edit %q: it is a directory that no step declares any more; "+
			"it stays because it contains other files; move these away first", s.Path())
	}
	return fmt.Errorf("cannot edit %q: no step declares this path any more, "+
		"so this run restores the %s from before fettle", s.Path(), left)
}

// restoredIn returns the type of a path in a directory that a plan restores with its content, if the plan
// changes no directory between. It is Absent for any other path.
func restoredIn(p string, changed map[addr.Addr]bool, trees map[string]string,
	kept func(string) []TreeFile) image.FileType {
	if f := storedAt(p, changed, trees, kept); f != nil {
		return f.Type
	}
	return image.Absent
}

// storedAt returns the object at a path in a directory that a plan restores with its content, if the plan
// changes no directory between; nil for any other path.
func storedAt(p string, changed map[addr.Addr]bool, trees map[string]string, kept func(string) []TreeFile) *image.File {
	d := path.Dir(p)
	for d != "/" && d != "." && !changed[addr.File(d)] {
		d = path.Dir(d)
	}
	if kept == nil || trees[d] == "" {
		return nil
	}
	for _, k := range kept(trees[d]) {
		if path.Join(d, k.Rel) == p {
			return &k.File
		}
	}
	return nil
}

// undressed returns the reason if recorded metadata cannot be restored, or "". The path no longer
// exists, or another user put another type of file there.
func undressed(e journal.Entry, from, to image.Image, leaves map[string]image.FileType) string {
	if e.Addr.Kind() != addr.KindMeta || from.File() == nil || to.File() == nil {
		return ""
	}
	if from.File().Type == image.Absent {
		return "its path no longer exists"
	}
	now := from.File().Type
	if left, changes := leaves[e.Addr.Path()]; changes && left != image.Absent {
		now = left
	}
	if now != to.File().Type {
		return fmt.Sprintf("others replaced the %s at its path by a %s", to.File().Type, now)
	}
	return ""
}

// withContentNow returns recorded metadata with the link target and the device number of the present object, because
// META does not change them.
func withContentNow(e journal.Entry, from, to image.Image) image.Image {
	if e.Addr.Kind() != addr.KindMeta || from.File() == nil || to.File() == nil {
		return to
	}
	f := *to.File()
	f.Target, f.Rdev = from.File().Target, from.File().Rdev
	return image.Of(&f)
}

// noFileLeft returns an error for an edit that leaves the list, if this plan restores a directory or a
// link at its path.
func noFileLeft(e journal.Entry, leaves map[string]image.FileType) error {
	left, changes := leaves[e.Addr.Path()]
	if e.Addr.Kind() != addr.KindEdit || !changes || left == image.Regular || left == image.Absent {
		return nil
	}
	return fmt.Errorf("cannot edit %q: this run restores the %s that others had there; move it away first",
		e.Addr.Path(), left)
}

// canBring reports whether an earlier change can create the file that a step needs. A step of the
// path, a tree or link above it, or a change that is not a path can create it.
func (m *forecast) canBring(s step.Step, now image.Image) bool {
	there := now.Region() != nil && !now.Region().FileAbsent || now.File() != nil && now.File().Type != image.Absent
	if s.Verb != step.Edit && s.Verb != step.Meta || there || m.elsewhere || m.behindLink(s) || m.inTree(s.Path()) {
		return true
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
func (m *forecast) occupied(c Change) error {
	if makesFile(c) {
		return m.lacksDirectory(c.Addr.Path())
	}
	if c.To == nil || c.To.File() == nil || c.To.File().Type == image.Absent {
		return nil
	}
	p := c.Addr.Path()
	if now := c.From; c.To.File().Type != image.Directory && now.File() != nil && now.File().Type == image.Directory {
		if left := m.withoutOurs(step.Step{Verb: step.Rm, Args: []string{p}}, *now); len(left.File().Entries) > 0 {
			return holdsForeign(p, left.File().Entries[0])
		}
	}
	return m.lacksDirectory(p)
}

// lacksDirectory returns an error for a restored path whose directory does not exist and is not
// created by this plan, or is replaced by it.
func (m *forecast) lacksDirectory(p string) error {
	for d := range parents(p) {
		a := addr.File(d)
		now := m.in.Observed[a].File()
		left, leaves := m.leaves[d]
		switch {
		case leaves && left != image.Directory && left != image.Absent:
			return fmt.Errorf("cannot restore %q: this run restores the %s that others had at %q; move it away first",
				p, left, d)
		case m.swept[d] && !m.comesBack(d):
			return fmt.Errorf("cannot restore %q: this run removes %q; declare it first: directory %q {}", p, d, d)
		case now == nil || now.Type == image.Directory || m.changed[a] || m.comesBack(d):
		case restoredIn(d, m.changed, m.trees, m.in.StoredTree) == image.Directory:
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
func (m *forecast) lacks(to image.File, p string) error {
	if to.Type == image.Absent {
		return nil
	}
	return errors.Join(m.displaces(to, p), m.lacksDirectory(p))
}

// displaces returns an error for a path that would become to, but is a directory with files of others. A
// directory behind a link that this plan replaces is another one.
func (m *forecast) displaces(to image.File, p string) error {
	if first := m.in.ForeignPaths[p]; first != "" && to.Type != image.Directory && !m.unseen(p) {
		return holdsForeign(p, first)
	}
	return nil
}

// holdsForeign returns the error for a directory that would be replaced, but contains files of others.
func holdsForeign(dir, name string) error {
	return fmt.Errorf("cannot replace the directory %q: it contains files that fettle does not manage, such as %q; "+
		"move them away first", dir, name)
}

// stuckWith returns an error for a path in a directory that cannot be replaced, if blocked addresses
// stay unchanged.
func (m *index) stuckWith(dir string) error {
	if first := m.in.ForeignPaths[dir]; dir != "" && first != "" && m.in.SkipBlocked {
		return holdsForeign(dir, first)
	}
	return nil
}

// comesBack reports whether a later change of this plan creates a directory.
func (m *forecast) comesBack(dir string) bool {
	if m.in.Goal == nil {
		return m.makes(dir)
	}
	if f, found := m.in.Goal.FilesBefore[dir]; found {
		return f.Type == image.Directory
	}
	i := m.making(dir)
	return i >= 0 && !m.passesOver(m.in.Desired[i]) && !m.onlyManages(m.in.Desired[i])
}

// awaits reports whether a restored path needs a directory that a step creates.
func (m *index) awaits(c Change) bool {
	if !makesFile(c) && (c.To == nil || c.To.File() == nil || c.To.Absent()) {
		return false
	}
	for d := range parents(c.Addr.Path()) {
		if now := m.in.Observed[addr.File(d)].File(); now != nil && now.Type != image.Directory && m.makes(d) {
			return true
		}
	}
	return false
}

// prevented returns an error for a step that the run cannot execute because of its path. A list must
// declare the directories of its paths. A rollback may leave changed directories as they are.
func (m *forecast) prevented(c Change) error {
	if m.in.Goal == nil {
		return m.separates(c)
	}
	return errors.Join(m.separates(c), m.occupied(c))
}
