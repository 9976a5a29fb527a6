package leader

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/assignments"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"golang.org/x/sync/errgroup"
)

// begin begins a higher epoch, because agents have seen a higher one than this store has.
func (t *term) begin(ctx context.Context, epoch uint64) error {
	was, rev, _ := t.Records.Epochs.Get(records.EpochKey)
	if epoch <= was.Number {
		return fmt.Errorf("cannot begin the epoch %d after %d", epoch, was.Number)
	}
	r := was.Next(records.Epoch{Number: epoch, Begun: t.Now().Unix(), Restored: t.Now().Unix(),
		Why: "agents have newer assignments than the store: it was lost, or restored from a backup"})
	if err := t.Records.Epochs.Put(ctx, records.EpochKey, r, rev); err != nil {
		return err
	}
	t.state.Begin(epoch)
	t.queue.add(assign.Event{})
	return t.Events.Record(ctx, fleet.HubEvent{Kind: fleet.LeaderChanged,
		Text: fmt.Sprintf("epoch %d began: %s", epoch, r.Why)})
}

// learn folds the assignments that the store has.
func (t *term) learn(all []fleet.Assignment) {
	for _, a := range all {
		if g, rev, ok := t.Records.Assignments.Get(string(a.Target)); ok && g.Assignment.Number() == a.Number() {
			t.state.Fold(assign.Event{Rev: rev, Kind: assign.AssignmentEvent, Key: string(a.Target),
				Assignment: &g.Assignment})
		}
	}
}

// write writes assignments in batches. After an error the state has the assignments that were written.
func (t *term) write(ctx context.Context, all []fleet.Assignment) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2) // one batch is prepared while another is written
	for part := range slices.Chunk(all, assignments.MaxBatch) {
		g.Go(func() error {
			now := slices.Clone(part)
			for i := range now {
				now[i].Issued = t.Now().Unix()
			}
			err := t.Assignments.Write(ctx, t.fence, now)
			if err == nil {
				t.progress.made(time.Now())
			}
			return err
		})
	}
	err := g.Wait()
	if err != nil {
		t.learn(all)
	}
	return err
}
