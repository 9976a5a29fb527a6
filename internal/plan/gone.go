package plan

import (
	"fmt"
	"path"

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
	case c.To != nil && c.To.File != nil:
		left = c.To.File.Type
	case c.To != nil && c.To.Region != nil && c.To.Region.FileAbsent:
		left = image.Absent
	}
	m.leaves[p] = left
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
	for p := s.Path(); p != "/" && p != "."; p = path.Dir(p) {
		if left, ok := m.leaves[p]; ok && left == image.Absent {
			return true
		}
	}
	return false
}

// canBring tells whether a change before a step can make the file that the step needs. A
// path is made by a step of that path, by a tree or a link around it, or by something
// that is no path.
func (m *maker) canBring(s step.Step, now image.Image) bool {
	there := now.Region != nil && !now.Region.FileAbsent || now.File != nil && now.File.Type != image.Absent
	if s.Verb != step.Edit && s.Verb != step.Meta || there || m.in.Goal != nil || m.elsewhere || m.relinked {
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
	if c.To == nil || c.To.File == nil || c.To.File.Type == image.Absent {
		return nil
	}
	p := c.Addr.Path()
	if now := c.From; c.To.File.Type != image.Directory && now.File != nil && now.File.Type == image.Directory {
		if left := m.withoutOurs(step.Step{Verb: step.Rm, Args: []string{p}}, *now); len(left.File.Entries) > 0 {
			return fmt.Errorf("cannot replace the directory %q: it has files of others, such as %q; move them away first", p, left.File.Entries[0])
		}
	}
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		a := addr.File(d)
		if now := m.in.Observed[a].File; now != nil && now.Type != image.Directory && now.Type != image.Absent && !m.changed[a] {
			return fmt.Errorf("cannot restore %q: %q is no directory now; move it away first", p, d)
		}
	}
	return nil
}
