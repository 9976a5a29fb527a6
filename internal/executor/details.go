package executor

import (
	"context"
	"errors"
	"slices"

	"fettle.dev/fettle/internal/journal"
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

// RunReader reads the runs of a target.
type RunReader interface {
	Runs(ctx context.Context) ([]journal.RunInfo, error)
	Show(ctx context.Context, run int) (Shown, error)
}

// ReadRun returns one run, without its details if the executor does not have them. found is false if the target does
// not have the run: it never existed, or its data was removed.
func ReadRun(ctx context.Context, x RunReader, run int, diffs bool) (d RunDetails, found bool, err error) {
	if r, ok := detailsReader(x); ok {
		if d, err = r.RunDetails(ctx, run, diffs); err == nil {
			return d, true, nil
		}
	}
	if d.Shown, err = x.Show(ctx, run); err == nil { // an agent of an earlier version
		return d, true, nil
	}
	runs, lerr := x.Runs(ctx)
	found = lerr != nil || slices.ContainsFunc(runs, func(r journal.RunInfo) bool { return r.Header.Run == run })
	return d, found, err
}

// DetailsOf returns the details of a run. It fails if the executor does not have them.
func DetailsOf(ctx context.Context, x Executor, run int, diffs bool) (RunDetails, error) {
	r, ok := detailsReader(x)
	if !ok {
		return RunDetails{}, errors.New("cannot read the details of a run: this executor does not have them")
	}
	return r.RunDetails(ctx, run, diffs)
}

func detailsReader(x RunReader) (DetailsReader, bool) {
	if p, ok := x.(*patient); ok { // reading needs no lock
		x = p.Executor
	}
	r, ok := x.(DetailsReader)
	return r, ok
}
