package plan

import (
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// released only manages a path again that a run since the goal of a rollback has released. It applies
// if the path was changed outside of runs, and by no run. Such changes stay, as on any path that no
// run has changed.
func (m *maker) released(s step.Step, by addr.Addr) bool {
	a := s.Addr()
	if !m.onlyManages(s, by) {
		return false
	}
	c := Change{Action: Adopt, Addr: a, Step: s.String(), Source: s.Source,
		Why: "it was managed " + m.when() + "; it was changed outside of runs, so it is left unchanged; to see the difference: fettle drift"}
	if e, applied := m.now[a]; applied {
		c.Applied = e.Step
	} else if now, seen := m.in.Observed[a]; seen && a.Kind() == addr.KindFile {
		c.From, c.ChangedByOthers = &now, true
	}
	m.add(c)
	m.below(s.Path())
	return true
}

// onlyManages reports whether released applies to a step.
func (m *maker) onlyManages(s step.Step, by addr.Addr) bool {
	a := s.Addr()
	if m.in.Goal != nil && isPath(a) && m.in.Goal.Unmanaged[s.Path()] {
		return true
	}
	if m.in.Goal == nil || !isPath(a) || m.then(a) != nil || m.underneath(s) || m.renumbered(s) || m.holdsFound(s.Path()) {
		return false
	}
	return by == "" && m.differsByOthers(s) // a purged path belongs to its directory
}

// differsByOthers reports whether a path that no run since the goal has changed differs from its step.
// This is unknown if a package of this plan may install the path, or if its directory did not exist:
// then the runs that created the directory also created the path.
func (m *maker) differsByOthers(s step.Step) bool {
	if m.installs {
		return false
	}
	for d := path.Dir(s.Path()); d != "/" && d != "."; d = path.Dir(d) {
		if f, ok := m.in.Goal.FilesBefore[d]; ok && f.Type == image.Absent {
			return false
		}
	}
	if m.in.Failed[s.Addr()] != nil {
		return true
	}
	now := m.in.Observed[s.Addr()]
	to, err := m.in.Rules.Target(s, now)
	return err != nil || !now.Same(to)
}

// directoryThen returns the image of a directory after the run to restore, if it does not exist now. A
// step need not set its owner or mode, but the entry has the directory that was found. It returns nil
// in all other cases.
func (m *maker) directoryThen(s step.Step, now image.Image) *image.Image {
	if m.in.Goal == nil || s.Verb != step.Mkdir || !absent(now) {
		return nil
	}
	i := slices.IndexFunc(m.in.Goal.Entries, func(e journal.Entry) bool { return e.Addr == s.Addr() })
	if i < 0 {
		return nil
	}
	e := m.in.Goal.Entries[i]
	for _, was := range []*image.Image{e.Adopted, e.Origin} {
		if was == nil || was.File == nil || was.File.Type != image.Directory {
			continue
		}
		f := *was.File
		f.Tree, f.Entries = "", nil
		if to, err := m.in.Rules.Target(s, image.Image{File: &f}); err == nil {
			return &to
		}
	}
	return nil
}
