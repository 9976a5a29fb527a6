package plan

import (
	"errors"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// plan plans the removal of the entries that left the list.
func (m *removals) plan() {
	var later []journal.Entry
	early := map[addr.Addr]bool{}
	for _, e := range m.leaving() {
		if _, with, known := m.foundAt(e.Addr.Path()); e.PurgedBy != "" && m.purges[e.PurgedBy] && (!known || with != "") {
			continue
		}
		if m.ownsEarlierPart(e) {
			later = append(later, e)
			continue
		}
		if m.madeAfterPurge(e) {
			m.add(Change{Action: Forget, Addr: e.Addr, Applied: e.Step, Source: e.Src,
				Why: "it is a part of a file that the restored purged file replaces"})
			continue
		}
		for _, up := range m.lostAbove(e, early) {
			m.remove(up)
		}
		if !early[e.Addr] {
			m.remove(e)
		}
	}
	for _, e := range later {
		m.remove(e)
	}
}

// ownsEarlierPart reports whether an entry is a part of a file whose whole step is newer. Both left the
// list.
func (m *removals) ownsEarlierPart(e journal.Entry) bool {
	f, ok := m.now[addr.File(e.Addr.Path())]
	return ok && ownsPart(e.Addr) && !m.wanted[f.Addr] && e.FirstRun < f.FirstRun && f.Origin != nil
}

// madeAfterPurge reports whether an entry is a part of a file that was created after a purge removed
// the file of others at its path. This plan restores that file, so the removal of the part would
// change a file that fettle does not manage.
func (m *removals) madeAfterPurge(e journal.Entry) bool {
	f, ok := m.now[addr.File(e.Addr.Path())]
	return ok && ownsPart(e.Addr) && f.PurgedBy != "" && f.FirstRun <= e.FirstRun && m.changed[f.Addr]
}

// lostAbove returns the directories above a restored path that are also restored and are not
// directories now, from the top. They are removed before the path.
func (m *removals) lostAbove(e journal.Entry, early map[addr.Addr]bool) []journal.Entry {
	var out []journal.Entry
	if e.Addr.Kind() != addr.KindFile || e.Origin == nil || e.Origin.File() == nil || e.Origin.Absent() {
		return nil
	}
	for d := range parents(e.Addr.Path()) {
		a := addr.File(d)
		up, managed := m.now[a]
		now := m.in.Observed[a].File()
		if !managed || m.wanted[a] || early[a] || now == nil || now.Type == image.Directory ||
			up.Origin == nil || !isDirectory(up.Origin.File()) {
			continue
		}
		early[a] = true
		out = append([]journal.Entry{up}, out...)
	}
	return out
}

// remove plans the removal of an entry.
func (m *removals) remove(e journal.Entry) {
	c := Change{Action: Remove, Addr: e.Addr, Applied: e.Step, Source: e.Src, Why: "no longer in the list"}
	if m.in.Goal != nil {
		c.Why = "not managed " + m.when()
	}
	switch {
	case isPath(e.Addr) && m.removeFound(c, e):
	case m.unmoved(e) || m.releasedSince(e):
		m.forget(c, "no run has changed it since, so it stays")
	case m.inUnmanaged(e):
		m.forget(c, "others have changed its directory, so it stays")
	case e.Origin == nil:
		m.forget(c, m.untouchedSince(e))
	case e.Step.Verb == step.Exec: // its undo runs regardless of its guards
		m.removeExec(c, e)
	case m.stays(c, e) || m.postponed(e):
	default:
		m.revert(c, e)
	}
}

// releasedSince reports whether a run since the goal of a rollback has released a path, and only a rollback has managed
// it again. Changes by others stay. A directory returns if the rollback needs it for a path in it.
func (m *removals) releasedSince(e journal.Entry) bool {
	p := e.Addr.Path()
	return m.in.Goal != nil && e.Addr.Kind() == addr.KindFile && m.in.Goal.Released[p] && !m.holdsFound(p) &&
		len(m.wantedIn(p)) == 0
}

// forget plans that an address stays and is no longer managed.
func (m *removals) forget(c Change, why string) {
	c.Action, c.Why = Forget, c.Why+"; "+why
	m.add(c)
}

// revert plans that an address gets its origin again.
func (m *removals) revert(c Change, e journal.Entry) {
	from, to := m.in.Observed[e.Addr], m.originOf(e)
	if why := undressed(e, from, to, m.leaves); why != "" {
		m.forget(c, why)
		return
	}
	to = withContentNow(e, from, to)
	if err := noFileLeft(e, m.leaves); err != nil {
		m.refusals.blocked(c, err)
		return
	}
	c.From, c.To = &from, &to
	p := e.Addr.Path()
	others, theirs := m.holdsOthers(p, from), ofOthers(e, from, to) || m.createdAgain(e, from)
	restores := to.File() != nil && (to.File().Type != image.Absent || others || theirs)
	if dir := m.purgedBy(e.Addr); dir != "" && !m.refusals.paths[p] && restores {
		c.Action, c.PurgedBy, c.Step = Purge, dir, step.Step{Verb: step.Rm, Args: []string{p}}.Stored()
		c.To = new(image.Of(&image.File{Type: image.Absent}))
		c.Why += ", and its directory is purged"
	}
	if theirs && c.Action == Remove {
		m.forget(c, "others created it since, so it stays")
		return
	}
	if to.File() != nil && to.File().Tree != "" && isDirectory(from.File()) && c.Action == Remove {
		m.removeAround(c, e)
		return
	}
	m.tellByHand(&c, e)
	if back := m.backWithTree(p, from, to); back != nil {
		from = image.Of(back)
	}
	c.Differences = c.To.Differences(*c.From, m.in.Rules)
	if putBack(from, *c.To) && !m.takesFile(from, to, p) {
		c = alreadyRemoved(c)
	}
	if d := addr.File(path.Dir(p)); makesFile(c) && m.purges[d] && !m.refusals.paths[p] {
		m.forget(c, "its file does not exist, and its directory is purged")
		return
	}
	if err := errors.Join(m.separates(c), m.occupied(c)); err != nil && c.Action.Mutates() {
		m.refusals.blocked(c, err)
		return
	}
	m.remain[p] = others && c.Action == Remove && to.File() != nil && to.File().Type == image.Absent
	m.removeInTurn(c)
}

// backWithTree returns the object that returns to an absent path with a directory that this plan restores with its
// content; nil if none does. If the path must be absent, this plan removes the object again.
func (m *removals) backWithTree(p string, from, to image.Image) *image.File {
	if from.File() == nil || to.File() == nil || !from.Absent() || !to.Absent() {
		return nil
	}
	return storedAt(p, m.changed, m.trees, m.in.StoredTree)
}

// ofOthers reports whether an object exists at a path that was absent before fettle and must be absent. Others
// created it, or an earlier rollback left it to them.
func ofOthers(e journal.Entry, from, to image.Image) bool {
	return e.Step.Verb == step.Rm && exists(from.File()) && to.File() != nil && to.Absent()
}

// createdAgain reports whether others created an object again that a purge had removed from a directory of fettle. The
// path was absent before fettle, so a rollback to the origin leaves the newer object.
func (m *index) createdAgain(e journal.Entry, from image.Image) bool {
	if m.in.Goal == nil || m.in.Goal.To != 0 || e.PurgedBy == "" || !exists(from.File()) {
		return false
	}
	for d := range parents(e.Addr.Path()) {
		if up, ok := m.now[addr.File(d)]; ok && up.Origin != nil && up.Origin.Absent() && up.FirstRun < e.FirstRun {
			return true
		}
	}
	return false
}

// alreadyRemoved returns the change of an object that has the image of its removal already.
func alreadyRemoved(c Change) Change {
	if c.Action == Purge { // the earlier content is stored with the directory
		c.Action, c.Why = Adopt, c.Why+"; it is already gone"
	} else {
		c.Action, c.Why = Forget, c.Why+"; it is already as it was before"
	}
	return c
}

// removeInTurn adds a removal, or delays it until a directory that it needs exists.
func (m *removals) removeInTurn(c Change) {
	if c.To.Region() != nil && c.To.Region().FileAbsent {
		m.going[c.Addr.Path()] = true
	}
	if m.awaits(c) {
		m.restoration.inTurn(c)
		return
	}
	m.add(c)
}

// holdsOthers reports whether a removed directory contains a path that this plan does not remove, or that it
// restores.
func (m *forecast) holdsOthers(p string, now image.Image) bool {
	return isDirectory(now.File()) && len(m.remaining(p, now.File().Entries)) > 0
}

// untouchedSince returns why an address that fettle found in sync stays. It can be attributed to the
// time before fettle only if no package or command that fettle ran until then can have created it.
func (m *removals) untouchedSince(e journal.Entry) string {
	if goneBefore(e) && m.goneWithTree(e.Addr.Path()) {
		return "fettle removed it with a directory above it"
	}
	for _, o := range m.in.Applied.Entries {
		installed := o.Origin != nil && o.Origin.Package() != nil && o.Origin.Package().Version == ""
		if o.FirstRun <= e.FirstRun && (installed || o.Addr.Kind() == addr.KindExec) {
			return "fettle did not change it, so there is nothing to undo"
		}
	}
	return "it was like this before fettle, so it stays"
}

// goneWithTree reports whether fettle removed a directory above a path with its content.
func (m *removals) goneWithTree(p string) bool {
	for d := range parents(p) {
		if o := m.now[addr.File(d)].Origin; o != nil && o.File() != nil && o.File().Tree != "" {
			return true
		}
	}
	return false
}

func (m *removals) purgedBy(a addr.Addr) addr.Addr {
	if dir := addr.File(path.Dir(a.Path())); a.Kind() == addr.KindFile && m.purges[dir] {
		return dir
	}
	return ""
}

// takesFile reports whether the removal of a region also removes its file, which was absent before
// fettle and has no other content now.
func (m *removals) takesFile(from, to image.Image, p string) bool {
	return from.Region() != nil && to.Region() != nil && from.Region().Leaves(*to.Region()) &&
		!m.sharedRegion(p) && !m.wanted[addr.New(addr.KindMeta, p)]
}

// emptied plans the removal of the directories that waited for a step.
func (m *removals) emptied(s step.Step) {
	if s.Verb == step.Edit && m.takesMade(s) {
		m.going[s.Path()] = true
	} else if s.Verb != step.Rm {
		return
	}
	waiting := m.empties[s.Path()]
	delete(m.empties, s.Path())
	for _, e := range waiting {
		m.remove(e)
	}
}

// removeExec plans the removal of a command, which runs its undo. If the last version of the command
// has no undo, the undo of the newest version with an undo runs.
func (m *removals) removeExec(c Change, e journal.Entry) {
	c.From = new(image.Of(&image.Exec{Known: true, Done: true}))
	c.To = new(image.Of(&image.Exec{Known: true}))
	switch {
	case e.Step.Get("undo") != "":
	case !e.Undo.IsZero():
		c.Applied = e.Undo
		c.Note = "its last version has no undo, so the undo of an earlier version runs"
	default:
		c.Action = Forget
		c.Irreversible = "the command has no undo, so its effects stay"
	}
	m.add(c)
}
