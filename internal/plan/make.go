package plan

import (
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// Make compares the list with the applied and the observed state. The diagnostics are steps that
// cannot be executed; if they contain errors, the plan must not be run.
func Make(in Input) (*Plan, diag.List) {
	m := newMaker(in)
	m.refusals.protect()
	if !in.MorePhases {
		m.removals.plan()
	}
	m.restoration.others()
	m.steps()
	m.restoration.left()
	if in.Goal != nil {
		m.p.Changes = inOrder(m.p.Changes)
	}
	if !in.MorePhases {
		m.actions.staleActs()
		m.actions.untoldActs()
	}
	m.refusals.exposed()
	m.idleWaits()
	m.checks()
	m.whole()
	return m.p, m.refusals.problems
}

// steps plans the steps of the list in order.
func (m *maker) steps() {
	if m.in.Goal != nil {
		for _, e := range m.in.Goal.Entries {
			if e.PurgedBy != "" && !m.restoration.givesUp(e) {
				m.restorePurged(e)
			}
		}
	}
	for _, s := range m.in.Desired {
		switch s.Verb {
		case step.Act:
			m.actions.act(s)
		case step.Wait:
			m.elsewhere = true // it waits for a condition that other programs cause
			m.add(Change{Action: Wait, Addr: s.Addr(), Step: s.Stored(), Source: s.Source, Why: "in its turn"})
		case step.Check, step.Include:
		default:
			m.stepBy(s, "")
			m.removals.emptied(s)
		}
	}
}

// stepBy plans a step. by is the directory whose purge includes the step, or "".
func (m *maker) stepBy(s step.Step, by addr.Addr) {
	if m.restoration.stepFound(s, by) || m.restoration.untouched(s) || m.restoration.released(s, by) {
		return
	}
	a := s.Addr()
	now, removed, ok := m.nowAt(s, by)
	if !ok {
		return
	}
	e, applied := m.now[a]
	if m.in.further(s, e, applied) {
		m.p.Unchanged++
		return
	}
	c := Change{Addr: a, Step: s.Stored(), Source: s.Source, From: &now, PurgedBy: by}
	if applied {
		c.Applied = e.Step
	}
	found, givesBack := m.withoutUnsaid(s, m.withoutOurLink(s, now, e), e)
	to, err := m.in.Rules.Target(s, found)
	if then := m.then(a); err != nil && then != nil && then.Unit() != nil {
		to, err = m.in.Rules.Target(s, *then) // the present state can be in the way of the step, such as a masked unit
	} else if err != nil && then != nil && m.madeFile(a, *then) {
		to, err = *then, nil
	}
	provided, later := m.providers.later(err)
	if err != nil && (!later || !m.canBring(s, now)) {
		m.refusals.refuse(s, by, orRemoved(m.providers.uncured(err), removed))
		return
	}
	if err != nil {
		c.Action, c.Why, c.Earlier = m.verbFor(s, applied, now), provided, m.then(a)
		c.noted(m.providers.doubt(err))
		m.add(c)
		return
	}
	if err := m.numbered(s); err != nil {
		m.refusals.refuse(s, by, err)
		return
	}
	if s.Verb == step.Meta || m.renumbered(s) {
		c.Earlier = m.then(a)
	}
	if to = m.exact(s, now, to); givesBack {
		c.Earlier = &to
	}
	c.To, c.Captured = &to, s.Verb == step.Edit && m.then(a) != nil
	if dir := m.directoryThen(s, now); dir != nil {
		c.To, c.Captured = dir, true
	}
	m.decide(s, c, e, applied)
	m.restoration.purge(s, now)
	if tree := givenUp(s, e); tree != "" && now.Absent() {
		m.restoration.keptBelow(s.Path(), tree)
	}
	m.restoration.below(s.Path())
}

// nowAt returns the image that the step finds when it runs, and whether this plan removes the object
// before. ok is false if this is unknown, which is reported.
func (m *maker) nowAt(s step.Step, by addr.Addr) (now image.Image, removed, ok bool) {
	hidden := m.behindLink(s)
	err := m.in.Failed[s.Addr()]
	provided, later := m.providers.later(err)
	if err != nil && !hidden && !later && !m.asRecorded(s) {
		m.refusals.refuse(s, by, err)
		return now, false, false
	}
	now = m.withoutOurs(s, m.in.Observed[s.Addr()])
	if s.Verb == step.Exec && err != nil {
		now = image.Of(&image.Exec{GuardsNotRun: "its guard " + provided})
	}
	if err := m.uneditable(s); err != nil {
		m.refusals.refuse(s, by, err)
		return now, false, false
	}
	removed = m.removed(s)
	if hidden || removed {
		now = notThere(s)
	}
	return now, removed, true
}

// givenUp returns the stored tree of a directory that an earlier list purged from the directory above,
// and that the list now has without purge: the files of others in it are restored.
func givenUp(s step.Step, e journal.Entry) string {
	if e.PurgedBy == "" || s.Verb != step.Mkdir || s.Get("purge") == "true" || e.Origin == nil || e.Origin.File() == nil {
		return ""
	}
	return e.Origin.File().Tree
}

// numbered returns an error for an account with the number of another account in the list.
func (m *maker) numbered(s step.Step) error {
	key := map[step.Verb]string{step.User: "uid", step.Group: "gid"}[s.Verb]
	if key == "" || s.Get(key) == "" || s.Absent() {
		return nil
	}
	id := key + " " + s.Get(key)
	if other, ok := m.ids[id]; ok && other != s.Addr() {
		return fmt.Errorf("cannot give %s the %s: %s has it in this list; choose another number", s.Addr(), id, other)
	}
	m.ids[id] = s.Addr()
	return nil
}

// idleWaits removes the WAIT steps from a plan without other changes.
func (m *maker) idleWaits() {
	if m.p.Empty() {
		m.p.Changes = slices.DeleteFunc(m.p.Changes, func(c Change) bool { return c.Action == Wait })
	}
}

func (m *maker) checks() {
	for _, s := range m.in.Desired {
		if s.Verb == step.Check {
			m.add(Change{Action: Verify, Addr: s.Addr(), Step: s.Stored(), Source: s.Source, Why: "verified after the run"})
		}
	}
}

func (m *maker) restorePurged(e journal.Entry) {
	s := e.Step
	s.Source = e.Src
	m.stepBy(s, e.PurgedBy)
}

// whole adds the resulting file to the last change of a part of each file, unless the file was also
// changed by others. The images of single parts do not have their order, nor the changes around them.
func (m *maker) whole() {
	if m.in.Goal == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(m.in.Goal.Edited)) {
		for i := range slices.Backward(m.p.Changes) {
			c := &m.p.Changes[i]
			if c.Addr.Kind() == addr.KindEdit && c.Addr.Path() == p && c.Action.Mutates() {
				w := m.in.Goal.Edited[p]
				c.WholeFile = &w
				break
			}
		}
	}
}
