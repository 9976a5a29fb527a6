package rollouts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// Log is the log of rollouts on this hub, and the state after its entries. It is safe for concurrent use.
// Readers never wait for the store: they have a state of their own, which contains only stored entries.
type Log struct {
	folded
	deciding chan struct{} // has a value while folded is in use
	up       atomic.Int64  // World.Up of the last decision of this hub; 0: it has not led

	showing sync.Mutex
	shown   folded
}

// folded is the state after some entries of the log.
type folded struct {
	mirror   *records.Mirror[records.StoredRollouts]
	state    *rollout.State
	contents map[rollout.Change]fleet.Assigned // of all entries
	read     uint64                            // number of the last entry in state
	snapshot uint64                            // number of the newest snapshot in state
	events   int                               // since the newest snapshot
}

// NewLog returns a log that is empty until its mirror is filled.
func NewLog(m *records.Mirror[records.StoredRollouts]) *Log {
	l := &Log{folded: folded{mirror: m}, deciding: make(chan struct{}, 1), shown: folded{mirror: m}}
	l.reset()
	l.shown.reset()
	return l
}

// begin waits until no other decision is in progress. The caller must call end.
func (l *Log) begin(ctx context.Context) error {
	select {
	case l.deciding <- struct{}{}:
		l.sync()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot decide about rollouts: %w", ctx.Err())
	}
}

func (l *Log) end() { <-l.deciding }

// reset discards the state. The next sync builds it again.
func (l *folded) reset() {
	l.state, l.contents, l.read, l.snapshot = rollout.NewState(), map[rollout.Change]fleet.Assigned{}, 0, 0
	l.events = 0
}

// entryKey returns the key of an entry. Keys sort like numbers.
func entryKey(n uint64) string { return fmt.Sprintf("%012d", n) }

// sync folds the entries that the mirror got.
func (l *folded) sync() {
	// A new log begins at the newest snapshot. So does a hub that was too slow: the entries that it lacks were removed.
	if _, _, ok := l.mirror.Get(entryKey(l.read + 1)); !ok || l.read == 0 {
		l.read = max(l.read, l.newestSnapshot())
	}
	for {
		stored, _, ok := l.mirror.Get(entryKey(l.read + 1))
		if !ok {
			return
		}
		e, err := stored.Rollouts()
		if err != nil {
			return // impossible: the mirror has read it before
		}
		l.read++
		if e.Snapshot != nil {
			l.state, l.contents, l.snapshot = e.Snapshot.State(), map[rollout.Change]fleet.Assigned{}, l.read
			l.events = 0
		}
		for _, event := range e.Events {
			l.state.Fold(event)
		}
		l.events += len(e.Events)
		l.keep(e.Contents)
	}
}

// newestSnapshot returns the number of the entry before the newest snapshot; 0 means that there is none.
func (l *folded) newestSnapshot() (before uint64) {
	l.mirror.Each(func(key string, e records.StoredRollouts, _ uint64) {
		if n, err := strconv.ParseUint(key, 10, 64); err == nil && e.Snapshot && n > 0 {
			before = n - 1
		}
	})
	return before
}

func (l *folded) keep(contents map[string]fleet.Assigned) {
	for key, p := range contents {
		l.contents[contentOfKey(key, p)] = p
	}
}

// store writes events that are already part of the state. After an error, the state is built again from the
// log. If another hub wrote first, the error wraps fleet.ErrConflict.
func (l *Log) store(ctx context.Context, events []rollout.Event, contents map[rollout.Change]fleet.Assigned) error {
	for _, e := range entries(events, contents) {
		if err := l.put(ctx, e); err != nil {
			l.reset()
			return fmt.Errorf("cannot store the rollouts: %w", err)
		}
		l.keep(e.Contents)
		l.events += len(e.Events)
		l.read++
	}
	return nil
}

// put writes the next entry.
func (l *Log) put(ctx context.Context, e records.Rollouts) error {
	stored, err := records.StoreRollouts(e)
	if err != nil {
		return err
	}
	return l.mirror.Put(ctx, entryKey(l.read+1), stored, 0)
}

// Order stores a command of an operator, and returns its events. If another hub writes at the same time, Order
// decides again with the newer state.
func (l *Log) Order(ctx context.Context, c rollout.Command, now int64) ([]rollout.Event, error) {
	for {
		events, err := l.order(ctx, c, now)
		if !errors.Is(err, fleet.ErrConflict) {
			return events, err
		}
		if err := l.Learn(ctx); err != nil {
			return nil, err
		}
	}
}

// decisionTime limits how long a command waits for another decision. A decision takes longer only if the store does
// not answer, and the command would wait for the store again.
const decisionTime = 3 * time.Second

func (l *Log) order(ctx context.Context, c rollout.Command, now int64) ([]rollout.Event, error) {
	waiting, done := context.WithTimeout(ctx, decisionTime)
	err := l.begin(waiting)
	done()
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("cannot change the rollout while another decision waits: %w", fleet.ErrNoAnswer)
	}
	defer l.end()
	events, err := l.state.Order(c, now)
	if err != nil {
		return nil, err
	}
	return events, l.store(ctx, events, nil)
}

// Learn reads the next entry, which another hub stored.
func (l *Log) Learn(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.end()
	key := entryKey(l.read + 1)
	found, err := l.mirror.Learn(ctx, key)
	if _, _, readable := l.mirror.Get(key); err == nil && found && !readable {
		return fmt.Errorf("cannot read the rollouts: this version of fettle cannot read the entry %s of their log", key)
	}
	return err
}

// each calls f for all rollouts, the newest first, and whether their content is held. f must not keep them.
func (l *Log) each(f func(r *rollout.Rollout, held bool)) {
	l.showing.Lock()
	defer l.showing.Unlock()
	l.shown.sync()
	for _, r := range l.shown.state.All() {
		f(r, l.shown.state.Holds(r))
	}
}

// ContentDigests returns the digests of the content that a rollback may need.
func (l *Log) ContentDigests() map[string]bool {
	l.showing.Lock()
	defer l.showing.Unlock()
	l.shown.sync()
	out := map[string]bool{}
	for _, p := range l.shown.contents {
		out[p.Bundle.Digest] = true
		if p.Proof != nil {
			out[p.Proof.Digest] = true
		}
	}
	return out
}
