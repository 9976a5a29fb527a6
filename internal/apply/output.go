package apply

import (
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// asked tells whether a command is to run although its guard is satisfied:
// nobody knows any more what it prints.
func (r *run) asked(i int, from image.Image) bool {
	c := r.plan.Changes[i]
	return c.Action.Mutates() && c.Action != plan.Remove && from.Exec != nil && c.From != nil && c.From.Exec != nil && c.From.Exec.Known && !c.From.Exec.Done &&
		r.m.Step(i).Get("output") == step.OutputStdout && !r.m.Back
}

// outputOf is what the command of an entry has given: in this run, or in an
// earlier one with the same line.
func outputOf(old, e journal.Entry, left image.Image) *string {
	if left.Exec != nil && left.Exec.Output != nil {
		return left.Exec.Output
	}
	if old.Step == e.Step {
		return old.Output
	}
	return nil
}
