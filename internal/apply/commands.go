package apply

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// notDone notes in the entries that the command of change i is not done. A command counts
// as done only when its change is Done at the end of the run: one that failed, or that
// was undone with success or without, runs again with the next apply. So does an earlier
// version of it that the entry has, since the newer one may have changed what that one did;
// its undo stays in the entry.
func (r *run) notDone(entries map[addr.Addr]journal.Entry, i int) {
	c, s := r.plan.Changes[i], r.m.Status(i)
	e, had := entries[c.Addr]
	switch began := s == Stuck || r.fx[i].changed && (s == Failed || s == Undone); {
	case !had || !began || !c.Action.Mutates():
	case c.Action == plan.Remove && s == Stuck: // its undo ran
		delete(entries, c.Addr)
	case c.Action == plan.Remove && s == Undone: // it ran again
	default:
		e.Failed, e.Output = true, nil
		entries[c.Addr] = e
	}
}

// undoOf is Entry.Undo of a command that follows on an earlier version of it.
func undoOf(old, e journal.Entry) string {
	switch {
	case old.Step == e.Step:
		return old.Undo
	case hasUndo(e.Step):
		return ""
	case hasUndo(old.Step):
		return old.Step
	}
	return old.Undo
}

// hasUndo tells whether the step of a line is a command that says how to undo it.
func hasUndo(line string) bool {
	s := stepOf(plan.Change{Step: line})
	return s.Verb == step.Exec && s.Get("undo") != ""
}
