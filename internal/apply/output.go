package apply

import (
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// asked reports whether a command must run although its guard is satisfied, because its output is
// unknown.
func (r *run) asked(i int, from image.Image) bool {
	c := r.plan.Changes[i]
	return c.Action.Mutates() && c.Action != plan.Remove && from.Exec != nil && c.From != nil && c.From.Exec != nil && c.From.Exec.Known && !c.From.Exec.Done &&
		r.m.Step(i).Get("output") == step.OutputStdout && !r.m.Back
}

// outputOf returns the output of the command of an entry, from this run or from an earlier run with
// the same line.
func outputOf(old, e journal.Entry, left image.Image) *string {
	if left.Exec != nil && left.Exec.Output != nil {
		return left.Exec.Output
	}
	if old.Step == e.Step {
		return old.Output
	}
	return nil
}
