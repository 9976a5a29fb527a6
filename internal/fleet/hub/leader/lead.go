package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"golang.org/x/sync/errgroup"
)

// begin starts a term with all present state.
func (l *Leader) begin(epoch, fence uint64) *term {
	t := &term{Config: l.Config, fence: fence, queue: newQueue(), computed: l.computed,
		state:     assign.NewState(epoch, l.Repository.Repository().Branch),
		revisions: map[string]assign.Contents{}, alarms: newAlarms(l.Config), progress: progress{at: time.Now()}}
	l.Assignments.ForgetShared()
	l.leading(t)
	l.tellAll(t.queue.add)
	return t
}

func (l *Leader) leading(t *term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term = t
}

// lead computes assignments until ctx ends or another hub leads.
func (l *Leader) lead(ctx context.Context, fence uint64) error {
	epoch, err := l.epoch(ctx)
	if err != nil {
		return err
	}
	t := l.begin(epoch, fence)
	defer l.leading(nil)
	g, ctx := errgroup.WithContext(ctx)
	for _, task := range l.Tasks {
		g.Go(func() error { return task(ctx, fence) })
	}
	// A new leader may have an outdated commit of the branch and no clone of the repository. So it
	// computes only after the first poll.
	asked := make(chan struct{})
	var once sync.Once
	g.Go(func() error { return l.Repository.Follow(ctx, func() { once.Do(func() { close(asked) }) }) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-asked:
		}
		return t.run(ctx)
	})
	g.Go(func() error { return t.alarms.follow(ctx, t.alarms.raise) })
	err = g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// epoch begins the epoch of a new leader. A hub cannot detect whether its store is the newest or
// was restored from an old copy. In an old copy, the next numbers may have been used before. So an
// epoch is at least the time in seconds since 1970, which is above all earlier ones. If agents have
// seen a higher epoch nevertheless, because a clock was wrong, the leader begins another one. A
// target whose assignment is unchanged gets no new number.
func (l *Leader) epoch(ctx context.Context) (uint64, error) {
	for {
		was, rev, _ := l.Records.Epochs.Get(records.EpochKey)
		now := l.Now().Unix()
		r := was.Next(records.Epoch{Number: max(was.Number+1, uint64(max(now, 1))), Begun: now, Why: l.Hub + " leads",
			Restored: was.Restored})
		err := l.Records.Epochs.Put(ctx, records.EpochKey, r, rev)
		if err == nil {
			return r.Number, nil
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return 0, fmt.Errorf("cannot begin an epoch: %w", err)
		}
		select { // until the mirror has the entry of the hub that was faster
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
