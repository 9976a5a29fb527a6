package plan

import (
	"cmp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

func (m *maker) decide(s step.Step, c Change, e journal.Entry, applied bool) {
	same := m.inSync(s, c, e, applied)
	turn, err := m.providers.atItsTurn(s, *c.From)
	if err != nil && !same {
		m.refusals.refuse(s, c.PurgedBy, err)
		return
	}
	if (same || turn != "") && m.in.Goal == nil && unheard(s, e) {
		same, c.From = false, new(image.Of(&image.Exec{Known: true}))
	}
	if turn != "" && !(same && c.From.Exec().MissingProgram != "") {
		c.Action, c.Why, c.Irreversible = Run, turn+" (known after apply)", m.in.Rules.Irreversible(s, *c.From, *c.To)
		c.noted(m.providers.doubtful(s, *c.From))
		m.add(c)
		return
	}
	switch {
	case same && m.disturbed(s, *c.From) != "":
		c.Action, c.Why = m.verbFor(s, true, *c.From), "in sync now; "+m.disturbed(s, *c.From)
		c.Differences = nil
		m.add(c)
		return
	case same && m.rearranged(s):
		m.rearrange(c)
		return
	case same && applied && e.Step.Same(c.Step) && slices.Equal(e.Step.Locks(), c.Step.Locks()):
		m.p.Unchanged++
		return
	case same:
		c.Action, c.Why = Adopt, "already in sync"
		if applied && e.Step.Same(c.Step) {
			c.Why = "only its locks change" // the removal of the step needs the locks of the applied step
		}
		if !applied {
			c.Note = keptMetadata(s)
		}
		c.Differences = nil
		m.add(c)
		return
	}
	c.Drifted = applied && m.drifted(e, *c.From)
	c.Action, c.Why = m.verbFor(s, applied, *c.From), why(s, applied, e, c)
	if m.in.Goal != nil {
		c.Why = "as it was " + m.when()
	}
	if c.Drifted && e.Step.Same(c.Step) && m.in.Goal == nil {
		c.Action = Repair
		if !m.in.Repair {
			c.Action = Drift
		}
	}
	m.change(s, c)
}

// change plans the change of a step that is not in sync, unless the run cannot make it.
func (m *maker) change(s step.Step, c Change) {
	if err := m.prevented(c); err != nil && c.Action.Mutates() {
		m.refusals.refuse(s, c.PurgedBy, err)
		return
	}
	how, err := m.place(s, c)
	if err != nil {
		m.refusals.refuse(s, c.PurgedBy, err)
		return
	}
	c.Why = cmp.Or(how, c.Why)
	c.Differences = c.To.Differences(*c.From, m.in.Rules)
	if m.in.Goal == nil || c.From.Package() == nil { // a rollback checks only the restored version
		c.Irreversible = m.in.Rules.Irreversible(s, *c.From, *c.To)
	}
	c.Note = linked(*c.From) + staysRunning(*c.From, *c.To) + endsAgain(s, *c.From)
	m.add(c)
}

// inSync reports whether a step has nothing to change.
func (m *index) inSync(s step.Step, c Change, e journal.Entry, applied bool) bool {
	switch {
	case s.Verb == step.Exec && !c.From.Exec().Known:
		return applied && e.Step.Same(c.Step) && (!e.Failed || m.failedThen(s.Addr()))
	case m.in.Goal != nil:
		return putBack(*c.From, *c.To)
	}
	return c.From.Same(*c.To)
}

// staysRunning returns the note for a running unit that is masked: a mask prevents a start but does
// not stop the unit.
func staysRunning(from, to image.Image) string {
	if f, t := from.Unit(), to.Unit(); f == nil || t == nil || f.Masked || !t.Masked || t.Active != "active" {
		return ""
	}
	return "masking does not stop it: it keeps running until a reboot, or until the state has running = false"
}

// endsAgain returns the note for a unit that systemd restarts again and again.
func endsAgain(s step.Step, from image.Image) string {
	if from.Unit() == nil || from.Unit().Active != image.Restarting {
		return ""
	}
	return "it ends repeatedly, and systemd restarts it; see journalctl -u " + s.Args[0]
}

// unheard reports whether a command must run because its output is unknown.
func unheard(s step.Step, e journal.Entry) bool {
	return s.Verb == step.Exec && s.Get("output") == step.OutputStdout && (e.Output == nil || !e.Step.Same(s))
}

func why(s step.Step, applied bool, e journal.Entry, c Change) string {
	switch {
	case applied && !e.Step.Same(c.Step) && c.Drifted:
		return "the list changed; it had also drifted"
	case applied && !e.Step.Same(c.Step):
		return "the list changed"
	case applied && e.Failed:
		return "it, or a changed version of it, failed after it had run"
	case applied:
		return "it differs from the applied state"
	case s.Absent():
		return "must not exist"
	}
	return "new in the list"
}

// keptMetadata returns the note about the metadata that an existing directory keeps, or "" if the step
// sets all of it.
func keptMetadata(s step.Step) string {
	if s.Verb != step.Mkdir {
		return ""
	}
	var kept []string
	for _, key := range []string{"owner", "group", "mode"} {
		if _, said := s.Lookup(key); !said {
			kept = append(kept, key)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "the directory exists and keeps its " + strings.Join(kept, ", ")
}

// rearrange restores the file around an unchanged part.
func (m *maker) rearrange(c Change) {
	c.Action, c.Why = Restore, "its whole file is restored as it was "+m.when()
	m.add(c)
}
