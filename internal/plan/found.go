package plan

import (
	"errors"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// comesWith describes that an address is restored together with its path, or with a directory above it.
func comesWith(a addr.Addr, with string) string {
	if with == "" {
		with = a.Path()
	}
	return with + " is restored as a whole"
}

// stepFound plans a step of a rollback whose path is restored to the state that a run found. It
// returns false for any other step.
func (m *restoration) stepFound(s step.Step, by addr.Addr) bool {
	to, with, known := m.foundAt(s.Path())
	if !known && !m.absentAbove(s) {
		return false
	}
	a := s.Addr()
	e, applied := m.now[a]
	c := Change{Addr: a, Step: s.Stored(), Source: s.Source, PurgedBy: by}
	if applied {
		c.Applied = e.Step
	}
	if !known {
		c.Action, c.Why = Adopt, "its directory did not exist "+m.when()+", so it is left unchanged"
		m.addUnlessSame(c, applied && e.Step.Same(c.Step))
		return true
	}
	if err := m.stuckWith(with); err != nil {
		m.refusals.refuse(s, by, err)
		return true
	}
	if with != "" || a.Kind() != addr.KindFile {
		c.Action, c.Why = Adopt, comesWith(a, with)
		m.changed[a] = m.changed[a] || m.changed[addr.File(s.Path())] || with != "" && m.changed[addr.File(with)]
		m.addUnlessSame(c, applied && e.Step.Same(c.Step))
		return true
	}
	if err := m.in.Failed[a]; err != nil && !m.unseen(s.Path()) {
		if _, later := m.providers.later(err); !later {
			m.refusals.refuse(s, by, err)
			return true
		}
	}
	c.Action, c.Why, c.Captured = Restore, "as it was "+m.when(), true
	c.From, c.To = m.pathNow(s.Path()), new(image.Of(&to))
	if applied {
		m.tellByHand(&c, e)
	}
	c.Differences = c.To.Differences(*c.From, m.in.Rules)
	c.Note = linked(*c.From)
	if putBack(*c.From, *c.To) {
		c.Action, c.Why, c.Captured, c.Differences = Adopt, "already as it was", false, nil
		m.addUnlessSame(c, applied && e.Step.Same(c.Step))
	} else if err := errors.Join(m.separates(c), m.lacks(to, s.Path())); err != nil {
		m.refusals.refuse(s, by, err)
		return true
	} else if s.Verb == step.Mkdir && to.Type == image.Absent && isDirectory(c.From.File()) {
		m.last = append(m.last, c) // steps below it may first remove objects
	} else if by != "" {
		m.inTurn(c) // a purged path precedes the steps, also the step of its directory
	} else {
		m.add(c)
	}
	m.below(s.Path())
	return true
}

// absentAbove reports whether a directory above a path was absent at the goal of a rollback. Then the path
// was absent too. If no run since has changed the path, an object there belongs to others. A part of a file is
// planned with its image if a run has changed the part.
func (m *index) absentAbove(s step.Step) bool {
	a := s.Addr()
	if m.in.Goal == nil || !isPath(a) || ownsPart(a) && m.then(a) != nil {
		return false
	}
	return m.absentThen(s.Path())
}

// absentThen reports whether the nearest directory above a path that runs since the goal of a rollback have changed
// was absent at the goal.
func (m *index) absentThen(p string) bool {
	for d := range parents(p) {
		if f, known := m.in.Goal.FilesBefore[d]; known {
			return f.Type == image.Absent
		}
	}
	return false
}

// removeFound plans the removal of an address whose path is restored to the state that a run found. It
// returns false for any other address.
func (m *removals) removeFound(c Change, e journal.Entry) bool {
	to, with, known := m.foundAt(e.Addr.Path())
	if !known {
		return false
	}
	if err := m.stuckWith(with); err != nil {
		m.refusals.blocked(c, err)
		return true
	}
	if with != "" || e.Addr.Kind() != addr.KindFile {
		c.Action, c.Why = Forget, c.Why+"; "+comesWith(e.Addr, with)
		m.add(c)
		return true
	}
	if err := m.in.Failed[e.Addr]; err != nil && !m.unseen(e.Addr.Path()) {
		m.refusals.blocked(c, err)
		return true
	}
	c.From, c.To = m.pathNow(e.Addr.Path()), new(image.Of(&to))
	m.tellByHand(&c, e)
	c.Differences = c.To.Differences(*c.From, m.in.Rules)
	if putBack(*c.From, *c.To) {
		c.Action, c.Why = Forget, c.Why+"; it is already as it was before"
	} else if err := errors.Join(m.separates(c), m.lacks(to, e.Addr.Path())); err != nil {
		m.refusals.blocked(c, err)
		return true
	}
	p := e.Addr.Path()
	if c.Action == Remove && to.Type == image.Absent && (len(m.wantedIn(p)) > 0 || m.holdsUnwanted(p) ||
		isDirectory(c.From.File()) && m.createdIn(p)) {
		m.refusals.hold(p)
		m.restoration.last = append(m.restoration.last, c) // steps below it may first remove objects
		return true
	}
	m.restoration.inTurn(c)
	return true
}

// removeAround plans the removal of an address whose origin is a directory with content, if its path
// is a directory now. Missing or different entries are restored in it; entries of the list and of
// others stay.
func (m *removals) removeAround(c Change, e journal.Entry) {
	tree := c.To.File().Tree
	for _, k := range m.restoration.missingOf(c.Addr.Path(), tree) {
		if err := m.displaces(k.File, path.Join(c.Addr.Path(), k.Rel)); err != nil {
			m.refusals.blocked(c, err)
			return
		}
	}
	alone := *c.To.File()
	alone.Tree = ""
	c.To = new(image.Of(&alone))
	c.Differences = c.To.Differences(*c.From, m.in.Rules)
	m.tellByHand(&c, e)
	if c.From.Same(*c.To) {
		c.Action, c.Why = Forget, c.Why+"; it is already as it was before"
	}
	m.add(c)
	m.restoration.keptBelow(c.Addr.Path(), tree)
}

// unmoved reports whether no run since the goal of a rollback has changed an entry. A rollback only managed a part of a
// file again, or of a path in a directory that was absent at the goal. Or the origin of a path belonged to a directory
// above it at the goal. The origin is older than the goal.
func (m *forecast) unmoved(e journal.Entry) bool {
	if m.in.Goal == nil || m.in.Goal.To == 0 {
		return false
	}
	p := e.Addr.Path()
	if !m.in.Goal.Moved[p] && (ownsPart(e.Addr) || e.Addr.Kind() == addr.KindFile && m.absentThen(p)) {
		return true
	}
	return e.Addr.Kind() == addr.KindFile && m.storedThen(p)
}

// storedThen reports whether a directory above a path was managed at the goal of a rollback, and its origin is a
// directory with content. The rollback restores this origin, and it contains the path.
func (m *forecast) storedThen(p string) bool {
	for d := range parents(p) {
		e := m.goal[addr.File(d)]
		if o := e.Origin; o != nil && o.File() != nil && o.File().Tree != "" && !m.givesUp(e) {
			return true
		}
	}
	return false
}

// inUnmanaged reports whether an entry is a part of a file of others in a directory that a rollback does not
// change.
func (m *index) inUnmanaged(e journal.Entry) bool {
	if m.in.Goal == nil || !ownsPart(e.Addr) || e.Origin == nil ||
		e.Origin.Region() != nil && e.Origin.Region().FileAbsent {
		return false
	}
	for d := range parents(e.Addr.Path()) {
		if m.in.Goal.Unmanaged[d] {
			return true
		}
	}
	return false
}

// originOf returns the image that the removal of an entry restores. For a part of a file, a rollback
// to a run prefers the image that the next run found: the origin can be older than changes of others.
func (m *index) originOf(e journal.Entry) image.Image {
	to := *e.Origin
	if before := m.then(e.Addr); before != nil && ownsPart(e.Addr) && (before.Region() != nil) == (to.Region() != nil) {
		to = *before
	}
	if e.Addr.Kind() == addr.KindMeta && to.File() != nil { // the modification time belongs to the content
		f := *to.File()
		f.MTime = 0
		to = image.Of(&f)
	}
	return to
}
