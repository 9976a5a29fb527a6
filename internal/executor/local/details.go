package local

import (
	"context"
	"fmt"

	"github.com/aymanbagabas/go-udiff"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

var _ executor.DetailsReader = (*Executor)(nil)

// Limits of the details of one run, in bytes and in number. The rest is left out.
const (
	maxPastDiffs = 2 << 20
	maxRunNotes  = 100
)

// RunDetails implements executor.DetailsReader.
func (x *Executor) RunDetails(ctx context.Context, run int, diffs bool) (executor.RunDetails, error) {
	s, err := x.Show(ctx, run)
	if err != nil {
		return executor.RunDetails{}, err
	}
	recs, err := x.store.Read(run)
	if err != nil {
		return executor.RunDetails{}, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
	}
	d := executor.RunDetails{Shown: s, Took: durations(recs), After: afterOf(s.States)}
	for _, rec := range recs {
		if rec.Kind == journal.Note && rec.Text != "" && len(d.Notes) < maxRunNotes {
			d.Notes = append(d.Notes, rec.Text)
		}
	}
	if diffs {
		x.pastDiffs(ctx, d.Plan)
	}
	return d, nil
}

// durations returns the durations of the changes of a run that were made one by one.
func durations(recs []journal.Record) map[int]int64 {
	out, began, moves := map[int]int64{}, map[int]int64{}, map[int][]journal.Record{}
	for i, rec := range recs {
		switch {
		case rec.Back:
		case rec.Kind == journal.Intent:
			began[rec.Change] = rec.At
		case rec.Kind == journal.Move:
			moves[rec.Batch] = append(moves[rec.Batch], rec)
		case rec.Kind == journal.Done && len(moves[rec.Batch]) == 1:
			out[moves[rec.Batch][0].Change] = rec.At - moves[rec.Batch][0].At
		case rec.Kind == journal.Result, rec.Kind == journal.Fired, rec.Kind == journal.Checked:
			from, known := began[rec.Change]
			if !known && i > 0 {
				from = recs[i-1].At
			}
			out[rec.Change] = max(0, rec.At-from)
		}
	}
	return out
}

// pastDiffs adds the differences of text content to the plan of an earlier run, from the stored content.
func (x *Executor) pastDiffs(ctx context.Context, p *plan.Plan) {
	left := maxPastDiffs
	for i := range p.Changes {
		c := &p.Changes[i]
		if ctx.Err() != nil || !hasDiff(c) {
			continue
		}
		before, ok1 := x.stored(*c.From.File())
		after, ok2 := x.stored(*c.To.File())
		if ok1 && ok2 && len(before)+len(after) <= left {
			c.Diff = udiff.Unified("a"+c.Addr.Path(), "b"+c.Addr.Path(), before, after)
			left -= len(c.Diff)
		}
		c.Binary = c.Diff == ""
	}
}

// stored returns the stored text of a file. It returns false if the content is missing, large, or not text.
func (x *Executor) stored(f image.File) (string, bool) {
	if f.Type != image.Regular {
		return "", true
	}
	if f.Size > diffLimit {
		return "", false
	}
	return x.content(f.Digest, nil)
}
