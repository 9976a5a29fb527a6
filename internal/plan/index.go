package plan

import (
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// then returns the image of an address in the goal of a rollback, or nil if it is unknown.
func (m *index) then(a addr.Addr) *image.Image {
	if m.in.Goal == nil {
		return nil
	}
	if before, ok := m.in.Goal.ImagesBefore[a]; ok {
		return &before
	}
	return nil
}

// when names the goal of a rollback in a sentence.
func (m *index) when() string {
	if m.in.Goal.To == 0 {
		return "before fettle"
	}
	return "after run " + strconv.Itoa(m.in.Goal.To)
}

// foundAt returns the image that a rollback restores at a path. If a directory above is restored with
// all of its content, with is that directory, and the image of the path is unknown. known is false if
// no run since the goal has changed the whole object at the path.
func (m *index) foundAt(p string) (to image.File, with string, known bool) {
	if m.in.Goal == nil || len(m.in.Goal.FilesBefore) == 0 || p == "" {
		return to, "", false
	}
	if to, known = m.in.Goal.FilesBefore[p]; known {
		return to, "", true
	}
	for d := range parents(p) {
		if f, ok := m.in.Goal.FilesBefore[d]; ok && replaced(f) {
			return to, d, true
		}
	}
	return to, "", false
}

// makes reports whether a step of the list creates a directory.
func (m *index) makes(dir string) bool { return m.making(dir) >= 0 }

// making returns the index of the step that creates a directory, or -1.
func (m *index) making(dir string) int {
	return slices.IndexFunc(m.in.Desired, func(s step.Step) bool { return s.Verb == step.Mkdir && s.Path() == dir })
}

// sharedRegion reports whether a file stays because a region in it is both applied and in the list.
func (m *index) sharedRegion(p string) bool {
	for a := range m.now {
		if a.Kind() == addr.KindEdit && a.Path() == p && m.wanted[a] {
			return true
		}
	}
	return false
}

// holdsFound reports whether a rollback restores a path below a directory that does not exist now.
func (m *index) holdsFound(dir string) bool {
	if now := m.in.Observed[addr.File(dir)].File(); m.in.Goal == nil || now == nil || now.Type != image.Absent {
		return false
	}
	for p, f := range m.in.Goal.FilesBefore {
		if f.Type != image.Absent && strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// takesMade reports whether the removal of a part of a file also removes the file, because an edit of
// fettle created it. A file with other content stays, and so does its directory.
func (m *index) takesMade(s step.Step) bool {
	now, e := m.in.Observed[s.Addr()].Region(), m.now[s.Addr()]
	removes := m.in.Goal == nil && s.Verb == step.Edit && s.Absent() && now != nil && now.Present
	return removes && e.Origin != nil && e.Origin.Region() != nil && e.Origin.Region().FileAbsent
}

// failedThen reports whether a command did not count as done in the goal of a rollback.
func (m *index) failedThen(a addr.Addr) bool {
	return m.goal[a].Failed
}

// verbFor returns the action of a step that changes its address.
func (m *index) verbFor(s step.Step, applied bool, now image.Image) Action {
	switch {
	case m.in.Goal != nil:
		return Restore
	case s.Verb == step.Exec:
		return Run
	case !applied && now.Absent() && !s.Absent():
		return Create
	}
	return Update
}

// drifted reports whether the address differs from the state that the applied step left.
func (m *index) drifted(e journal.Entry, now image.Image) bool {
	s := e.Step
	if s.Verb == step.Exec {
		return now.Exec() != nil && now.Exec().Known && !now.Exec().Done
	}
	t, err := m.in.Rules.Target(s, now)
	if err == nil && t.SealKey() != now.SealKey() && !now.Absent() {
		return false // one of them has a secret, or the keys differ: they cannot be compared
	}
	return err != nil || !t.Same(now)
}

// tellByHand notes that an address was changed outside of runs after fettle changed it, unless it
// already has its target state.
func (m *index) tellByHand(c *Change, e journal.Entry) {
	if c.From.Same(*c.To) || !m.drifted(e, *c.From) {
		return
	}
	c.Drifted = true
	c.Why += "; changed by hand since run " + strconv.Itoa(e.Run)
}
