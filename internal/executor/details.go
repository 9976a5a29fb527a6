package executor

import (
	"context"
	"errors"
)

// RunDetails is a run with more data for display.
type RunDetails struct {
	Shown
	// Took are durations of changes in ns, by their index in the plan. Durations of changes that were made together are
	// unknown.
	Took map[int]int64 `json:"took,omitempty"`
	// Notes are the notes of the run: conflicts, and files of others that it kept.
	Notes []string `json:"notes,omitempty"`
	// After is StateRef.After of each state, by its ID.
	After map[string][]string `json:"after,omitempty"`
}

// AddOrder sets StateRef.After of the states of a run that another process read.
func (d *RunDetails) AddOrder() {
	for i := range d.States {
		if d.States[i].After == nil {
			d.States[i].After = d.After[d.States[i].ID]
		}
	}
}

// DetailsReader is an executor that returns RunDetails. Executors of earlier versions do not have it.
type DetailsReader interface {
	// RunDetails returns one run. With diffs, the changes of its plan have the differences of text content, as far as
	// the content is still stored.
	RunDetails(ctx context.Context, run int, diffs bool) (RunDetails, error)
}

// DetailsOf returns the details of a run. It fails if the executor does not have them.
func DetailsOf(ctx context.Context, x Executor, run int, diffs bool) (RunDetails, error) {
	if p, ok := x.(*patient); ok { // reading needs no lock
		x = p.Executor
	}
	r, ok := x.(DetailsReader)
	if !ok {
		return RunDetails{}, errors.New("cannot read the details of a run: this executor does not have them")
	}
	return r.RunDetails(ctx, run, diffs)
}
