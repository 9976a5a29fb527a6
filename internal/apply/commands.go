package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// notDone records in the entries that the command of change i is not done. A command counts as done
// only if its change is Done at the end of the run. If it failed or was undone, it runs again with the
// next apply. This includes an earlier version of the command in the entry, whose effects the newer
// version may have changed; its undo stays in the entry.
func (r *successor) notDone(entries map[addr.Addr]journal.Entry, i int) {
	c, s := r.plan.Changes[i], r.machine.Status(i)
	e, had := entries[c.Addr]
	began := s == Stuck || r.effects[i].changed && (s == Failed || s == Undone) || r.cut(i)
	switch {
	case !had || !began || !c.Action.Mutates():
	case c.Action == plan.Remove && s == Stuck: // its undo ran
		delete(entries, c.Addr)
	case c.Action == plan.Remove && s == Undone: // it ran again
	default:
		e.Failed, e.Output = true, nil
		entries[c.Addr] = e
	}
}

// cut reports whether a crash interrupted the command of change i. Its guard can be unsatisfied, although the command
// changed the effect of an earlier version.
func (r *successor) cut(i int) bool {
	return r.effects[i].began && !r.effects[i].changed && r.plan.Changes[i].Action != plan.Remove
}

// interrupted records in the entries of an undone run that the commands are not done which a crash interrupted.
func (r *successor) interrupted(entries []journal.Entry) []journal.Entry {
	out := slices.Clone(entries)
	for i, c := range r.plan.Changes {
		if !r.cut(i) {
			continue
		}
		at := slices.IndexFunc(out, func(e journal.Entry) bool { return e.Addr == c.Addr })
		if at >= 0 {
			out[at].Failed, out[at].Output = true, nil
		}
	}
	return out
}

// undoOf returns Entry.Undo of a command that replaces an earlier version.
func undoOf(old, e journal.Entry) step.Step {
	switch {
	case old.Step.Same(e.Step):
		return old.Undo
	case hasUndo(e.Step):
		return step.Step{}
	case hasUndo(old.Step):
		return old.Step
	}
	return old.Undo
}

// hasUndo reports whether a step is a command with an undo.
func hasUndo(s step.Step) bool {
	return s.Verb == step.Exec && s.Get("undo") != ""
}

// asked reports whether a command must run although its guard is satisfied, because its output is
// unknown.
func (r *forward) asked(i int, from image.Image) bool {
	c := r.plan.Changes[i]
	return c.Action.Mutates() && c.Action != plan.Remove && from.Exec() != nil &&
		c.From != nil && c.From.Exec() != nil && c.From.Exec().Known && !c.From.Exec().Done &&
		r.machine.Step(i).Get("output") == step.OutputStdout && !r.machine.Back
}

// outputOf returns the output of the command of an entry, from this run or from an earlier run with
// the same line.
func outputOf(old, e journal.Entry, left image.Image) *string {
	if left.Exec() != nil && left.Exec().Output != nil {
		return left.Exec().Output
	}
	if old.Step.Same(e.Step) {
		return old.Output
	}
	return nil
}
