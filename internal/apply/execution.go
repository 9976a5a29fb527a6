package apply

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// ErrRestore, as the cause of the end of the context of a run, stops the run and undoes it, with any policy.
var ErrRestore = errors.New("the run must be restored")

// finish undoes the run if its policy requires this, and records the outcome.
func (r *execution) finish() (Result, error) {
	outcome := journal.Succeeded
	if r.failed == nil && len(r.rescued) > 0 {
		r.failed = r.rescued[0]
	}
	switch {
	case r.failed == nil:
	case r.halted:
		outcome = journal.Interrupted
	case r.failed.Class == VerificationFailed:
		outcome = journal.CheckFailed
	default:
		outcome = journal.Failed
	}
	if r.takesBack(outcome) {
		return r.undo()
	}
	return r.end(outcome)
}

// undo undoes all changes of the run, and ends it.
func (r *execution) undo() (Result, error) {
	outcome, err := r.backward.undoRun()
	if err != nil {
		return r.result(), err
	}
	return r.end(outcome)
}

func (r *execution) takesBack(outcome journal.Outcome) bool {
	switch outcome {
	case journal.Failed, journal.Interrupted:
		return r.header.OnFailure == FailureUndo || errors.Is(context.Cause(r.ctx), ErrRestore)
	case journal.CheckFailed:
		return r.OnCheckFailure == CheckFailureUndo || r.header.OnFailure == FailureUndo
	}
	return false
}

// end writes the new state and the last record. The run is complete after that.
func (r *execution) end(outcome journal.Outcome) (Result, error) {
	if r.reload {
		r.daemonReload()
	}
	r.packages.sweepPackages()
	if err := r.batches.sweepUp(); err != nil {
		return r.result(), fmt.Errorf("run %d is interrupted; the next fettle command recovers it: %w", r.header.Run, err)
	}
	res := r.result()
	res.Outcome = outcome
	res.State = r.successor.nextState(outcome)
	last := journal.Record{Kind: journal.Commit, Outcome: outcome, Summary: &journal.Summary{Changed: res.Changed}}
	if outcome == journal.RolledBack {
		last.Kind = journal.Undone
	}
	if r.failed != nil {
		last.Error = r.failed.Error
	}
	if err := r.journal.End(res.State, last); err != nil {
		return res, fmt.Errorf("cannot record the end of run %d; the next fettle command recovers it: %w", r.header.Run, err)
	}
	return res, nil
}

// result returns the result of the run at its end.
func (r *run) result() Result {
	res := Result{Run: r.header.Run, Failed: r.failed, Rescued: r.rescued, Checks: r.checks, Notes: r.notes, State: r.base}
	for i, c := range r.plan.Changes {
		if r.kept(i) {
			res.Changed++
		}
		if r.machine.Status(i) == Stuck {
			res.NotUndone = append(res.NotUndone, c.Addr)
		}
		if s := r.machine.Status(i); (s == Do || s == Barred) &&
			(c.Action.Mutates() || c.Action == plan.Verify || c.Action == plan.Wait) {
			res.Remaining = append(res.Remaining, c.Addr)
		}
	}
	return res
}

// kept reports whether change i counts as changed: it took effect without a failure and is not undone.
// Actions follow from changes and do not count.
func (r *run) kept(i int) bool {
	s := r.machine.Status(i)
	return r.effects[i].changed && (s == Done || s == Stuck) && r.failures[i] == nil &&
		r.plan.Changes[i].Addr.Kind() != addr.KindAct
}
