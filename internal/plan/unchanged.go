package plan

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// passesOver reports whether untouched applies to a step.
func (m *forecast) passesOver(s step.Step) bool {
	a := s.Addr()
	e, applied := m.now[a]
	return m.in.Goal != nil && isPath(a) && applied && e.Step.Same(s) && e.Run <= m.in.Goal.To && m.then(a) == nil &&
		!m.underneath(s) && !m.renumbered(s) && !m.holdsFound(s.Path()) && !m.rearranged(s)
}

// onlyManages reports whether released applies to a step.
func (m *forecast) onlyManages(s step.Step) bool {
	a := s.Addr()
	if m.in.Goal != nil && isPath(a) && m.in.Goal.Unmanaged[s.Path()] {
		return true
	}
	if m.in.Goal == nil || !isPath(a) || m.then(a) != nil || m.underneath(s) || m.renumbered(s) || m.holdsFound(s.Path()) {
		return false
	}
	return m.differsByOthers(s)
}

// differsByOthers reports whether a path that no run since the goal has changed differs from its step.
// This is unknown if a package of this plan may install the path, or if its directory did not exist:
// then the runs that created the directory also created the path.
func (m *forecast) differsByOthers(s step.Step) bool {
	if m.installs {
		return false
	}
	for d := range parents(s.Path()) {
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

// rearranged reports whether the parts of a file are unchanged but the file is not: a part was removed
// and added at another place, or runs created the file for a part and then removed the part. The last part
// in the list then restores or removes the file, unless another change of this plan does.
func (m *forecast) rearranged(s step.Step) bool {
	if m.in.Goal == nil || s.Verb != step.Edit {
		return false
	}
	w, known := m.in.Goal.Edited[s.Path()]
	if !known || w.To.Digest == w.From.Digest || w.To.Type != image.Regular && !(w.To.Type == image.Absent &&
		m.needsNoFile(s.Path())) {
		return false
	}
	for a := range m.changed {
		if a.Kind() == addr.KindEdit && a.Path() == s.Path() {
			return false
		}
	}
	last := step.Step{}
	for _, o := range m.in.Desired {
		if o.Verb == step.Edit && o.Path() == s.Path() {
			last = o
		}
	}
	return last.Addr() == s.Addr()
}

// needsNoFile reports whether all steps of a path are parts that must be absent.
func (m *index) needsNoFile(p string) bool {
	return !slices.ContainsFunc(m.in.Desired, func(s step.Step) bool {
		return s.Path() == p && (s.Verb != step.Edit || !s.Absent())
	})
}
