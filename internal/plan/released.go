package plan

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// released only manages a path again that a run since the goal of a rollback has released. It applies
// if the path was changed outside of runs, and by no run. Such changes stay, as on any path that no
// run has changed.
func (m *restoration) released(s step.Step, by addr.Addr) bool {
	a := s.Addr()
	if !m.onlyManages(s) {
		return false
	}
	c := Change{Action: Adopt, Addr: a, Step: s.Stored(), Source: s.Source, PurgedBy: by,
		Why: "it was managed " + m.when() + "; it was changed outside of runs, so it is left unchanged; " +
			"to see the difference: fettle drift"}
	if e, applied := m.now[a]; applied {
		c.Applied = e.Step
	} else if now, seen := m.in.Observed[a]; seen && a.Kind() == addr.KindFile {
		c.From, c.ChangedByOthers = &now, true
	}
	m.add(c)
	m.below(s.Path())
	return true
}

// givesUp reports whether a rollback does not restore the entry of a path as it was: the path is not managed now, and
// the object there belongs to others. A purged path is not managed after the rollback, because a rollback purges
// nothing. Any other path is managed again, and its origin is this object.
func (m *forecast) givesUp(then journal.Entry) bool {
	p := then.Addr.Path()
	_, managed := m.now[then.Addr]
	_, _, changed := m.foundAt(p)
	return !managed && (m.in.Goal.Unmanaged[p] || !changed && m.onlyManages(then.Step))
}

// directoryThen returns the image of a directory after the run to restore, if it does not exist now. A
// step need not set its owner or mode, but the entry has the directory that was found. It returns nil
// in all other cases.
func (m *index) directoryThen(s step.Step, now image.Image) *image.Image {
	if m.in.Goal == nil || s.Verb != step.Mkdir || !now.Absent() {
		return nil
	}
	e := m.goal[s.Addr()]
	for _, was := range []*image.Image{e.Adopted, e.Origin} {
		if was == nil || was.File() == nil || was.File().Type != image.Directory {
			continue
		}
		f := *was.File()
		f.Tree, f.Entries = "", nil
		if to, err := m.in.Rules.Target(s, image.Of(&f)); err == nil {
			return &to
		}
	}
	return nil
}

// untouched skips a path that no run since the goal of a rollback has changed: the rollback does not
// undo changes of others.
func (m *restoration) untouched(s step.Step) bool {
	if !m.passesOver(s) {
		return false
	}
	m.p.Unchanged++
	m.below(s.Path())
	return true
}
