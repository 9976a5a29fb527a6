package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// noteLeft notes what a change leaves at its path.
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
	m.swept[p] = left == image.Absent && c.Action != Remove // a directory that is removed stays if something is in it
}

// outlives tells whether a directory stays although it is removed, since others have
// something in it.
func (m *maker) outlives(c Change) bool {
	if c.Action != Remove || c.From == nil || c.From.File == nil || c.From.File.Type != image.Directory || c.To.File.Type != image.Absent {
		return false
	}
	return len(m.withoutOurs(step.Step{Verb: step.Rm, Args: []string{c.Addr.Path()}}, *c.From).File.Entries) > 0
}

// sharedRegion tells whether a region that is applied and wanted keeps a file.
func (m *maker) sharedRegion(p string) bool {
	for a := range m.now {
		if a.Kind() == addr.KindEdit && a.Path() == p && m.wanted[a] {
			return true
		}
	}
	return false
}

// removed tells whether a step is about a part of a file that this plan removes before
// it, or replaces by something that cannot be edited: what was observed there is gone then.
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

// uneditable is an error for an edit of a path at which this plan leaves what is no file.
func (m *maker) uneditable(s step.Step) error {
	left, ok := m.leaves[s.Path()]
	if !ok || s.Verb != step.Edit || m.in.Goal != nil || left == image.Regular || left == image.Absent {
		return nil
	}
	if left == image.Directory && m.now[addr.File(s.Path())].Origin.File.Type == image.Absent {
		return fmt.Errorf("cannot edit %q: it is a directory that no step declares any more and that stays, since it has files of others in it; move them away first", s.Path())
	}
	return fmt.Errorf("cannot edit %q: this run restores what was there before fettle, a %s, since no step declares it any more", s.Path(), left)
}

// canBring tells whether a change before a step can make the file that the step needs. A
// path is made by a step of that path, by a tree or a link around it, or by something
// that is no path.
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

// orRemoved explains an error about a file that exists until this plan removes it.
func orRemoved(err error, removed bool) error {
	if !removed {
		return err
	}
	return fmt.Errorf("%w (it exists now, and this run removes or replaces it, since no step declares it any more)", err)
}

// occupied is an error for a path that comes back where something that others made is in
// the way: a directory with files of others at the path itself, or something that is no
// directory above it.
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

// makesFile tells whether a change of a region makes its file again.
func (m *maker) makesFile(c Change) bool {
	return c.From != nil && c.From.Region != nil && c.From.Region.FileAbsent && c.To != nil && c.To.Region != nil && c.To.Region.Present
}

// lacksDirectory is an error for a path that comes back in a directory that does not
// exist and that this plan does not make.
func (m *maker) lacksDirectory(p string) error {
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		a := addr.File(d)
		now := m.in.Observed[a].File
		switch {
		case now == nil || now.Type == image.Directory || m.changed[a] || m.comesBack(d):
		case now.Type == image.Absent:
			return fmt.Errorf("cannot restore %q: the directory %q does not exist now; create it first", p, d)
		default:
			return fmt.Errorf("cannot restore %q: %q is not a directory now; move it away first", p, d)
		}
	}
	return nil
}

// lacks is an error for a path that becomes to where files of others prevent that, or where its
// directory does not exist.
func (m *maker) lacks(to image.File, p string) error {
	if to.Type == image.Absent {
		return nil
	}
	return errors.Join(m.displaces(to, p), m.lacksDirectory(p))
}

// displaces is an error for a path that becomes to where a directory with files of others is.
func (m *maker) displaces(to image.File, p string) error {
	if first := m.in.Foreign[p]; first != "" && to.Type != image.Directory {
		return holdsForeign(p, first)
	}
	return nil
}

// holdsForeign is the error for a directory that would be replaced although others have files in it.
func holdsForeign(dir, name string) error {
	return fmt.Errorf("cannot replace the directory %q: it has files of others, such as %q; move them away first", dir, name)
}

// stuckWith is an error for a path in a directory that cannot be replaced, if blocked addresses
// stay as they are.
func (m *maker) stuckWith(dir string) error {
	if first := m.in.Foreign[dir]; dir != "" && first != "" && m.in.SkipBlocked {
		return holdsForeign(dir, first)
	}
	return nil
}

// comesBack tells whether a later change of this plan makes a directory.
func (m *maker) comesBack(dir string) bool {
	if m.in.Goal == nil {
		return m.makes(dir)
	}
	if f, found := m.in.Goal.Found[dir]; found {
		return f.Type == image.Directory
	}
	i := m.making(dir)
	return i >= 0 && !m.passesOver(m.in.Wanted[i]) && !m.onlyManages(m.in.Wanted[i], "")
}

// makes tells whether a step of the list makes a directory.
func (m *maker) makes(dir string) bool { return m.making(dir) >= 0 }

// making is the index of the step that makes a directory, or -1.
func (m *maker) making(dir string) int {
	return slices.IndexFunc(m.in.Wanted, func(s step.Step) bool { return s.Verb == step.Mkdir && s.Path() == dir })
}

// awaits tells whether a path that comes back needs a directory that a step makes.
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

// replacedAbove tells whether the list wants no directory at a path above another one.
func (m *maker) replacedAbove(p string) bool {
	return slices.ContainsFunc(m.in.Wanted, func(s step.Step) bool {
		q := s.Path()
		return (s.Verb == step.Rm || s.Verb == step.Copy || s.Verb == step.Link) && strings.HasPrefix(p, q+"/")
	})
}

// holdsFound tells whether a rollback restores something below a directory that does not
// exist now.
func (m *maker) holdsFound(dir string) bool {
	if now := m.in.Observed[addr.File(dir)].File; m.in.Goal == nil || now == nil || now.Type != image.Absent {
		return false
	}
	for p, f := range m.in.Goal.Found {
		if f.Type != image.Absent && strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}
