package apply

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// errStopped ends one direction of a run; run.failed has the failure.
var errStopped = errors.New("stopped at a failed step")

// cutError ends the run without a last record, because only recovery can determine the state of the
// host.
type cutError struct{ error }

func (e cutError) Unwrap() error { return e.error }

func cutShort(err error) error { return cutError{err} }

func cut(err error) bool {
	var e cutError
	return errors.As(err, &e)
}

func (r *Runner) blobSize(digest string) int64 { return r.Blobs[digest].Size }

// settleTime limits the work after a cancellation.
const settleTime = 2 * time.Minute

// run is a run in progress: its input, its journal, and its effects. The other types of a
// run add one task each, and reach the run through this type.
type run struct {
	*Runner
	ctx     context.Context
	env     verb.Env
	plan    *plan.Plan
	header  journal.Header
	began   time.Time // an interrupted run began before its recovery
	machine *Machine
	journal *journal.Journal
	base    journal.State
	goal    map[addr.Addr]journal.Entry // rollback: the entries of the state to restore
	wanted  step.List
	effects []effect // the real effect of each change, by index
	checks  []CheckResult
	notes   []string
	failed  *Failure
	halted  bool    // a signal or a time limit stopped the run before its end
	reload  bool    // unit files changed after systemd read them
	current int     // index of the change whose programs are running
	output  *string // the output of the last command, for later steps
	actions *actions
	// faults are the failures by index of their change. rescued are the failures after which the run
	// continued.
	failures map[int]*Failure
	rescued  []*Failure
}

// effect is the real effect of one change: the images before and after, and its path moves.
type effect struct {
	changed  bool // the host changed
	from, to image.Image
	moves    []pathMove
	fired    bool // an action that ran, or whose intent is recorded without a result
	began    bool // a command whose intent is recorded; it may have had any effect
	// found is the image before the first attempt at the change. If a crash left the change partly
	// done, this is the before-image, not the partly changed state.
	found image.Image
	// undoing reports that the undo of the change had begun when the run was interrupted.
	undoing bool
}

// pathMove is the move of one path within a change.
type pathMove struct {
	path     string
	from, to image.File
	inPlace  bool
	inode    string // as in journal.Record
	open     bool   // the run was interrupted before the batch was recorded as done
	backing  bool   // the run was interrupted while the move was undone
}
