package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// queue collects events for the leader. It needs no limit: the number of objects that cause events
// is bounded, and folding is fast.
type queue struct {
	mu     sync.Mutex
	events []assign.Event
	wake   chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) add(e assign.Event) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() []assign.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.events
	q.events = nil
	return all
}

// leader computes assignments. Its fields belong to one goroutine.
type leader struct {
	h     *Hub
	fence uint64
	queue *queue
	state *assign.State
	// revisions contains the compiled commits, each for the targets that were enrolled at that
	// time.
	revisions map[string]assign.Contents
	// alarms contains only the newest alarms to store, so that assigning does not wait for the
	// write.
	alarms   chan []assign.Alarm
	progress progress
}

// lead computes assignments until ctx ends or another hub leads.
func (h *Hub) lead(ctx context.Context, fence uint64) error {
	epoch, err := h.epoch(ctx)
	if err != nil {
		return err
	}
	l := &leader{h: h, fence: fence, queue: newQueue(), state: assign.NewState(epoch, h.repository().Branch), revisions: map[string]assign.Contents{}, alarms: make(chan []assign.Alarm, 1), progress: progress{at: time.Now()}}
	h.sharedModules.again()
	h.leading(l)
	defer h.leading(nil)
	h.tellAll(l.queue.add)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.members.Tend(ctx, fence) })
	// A new leader may have an outdated commit of the branch and no clone of the repository. So it
	// computes only after the first poll.
	asked := make(chan struct{})
	var once sync.Once
	g.Go(func() error { return h.follow(ctx, func() { once.Do(func() { close(asked) }) }) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-asked:
		}
		return l.run(ctx)
	})
	g.Go(func() error { return l.keepAlarms(ctx, l.raise) })
	g.Go(func() error { return h.notices.Run(ctx) })
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
func (h *Hub) epoch(ctx context.Context) (uint64, error) {
	for {
		was, rev, _ := h.records.Epochs.Get(records.EpochKey)
		now := h.now().Unix()
		r := records.Epoch{Number: max(was.Number+1, uint64(max(now, 1))), Begun: now, Why: h.set.Name + " leads"}
		err := h.records.Epochs.Put(ctx, records.EpochKey, r, rev)
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

// run folds events and computes after each change, until ctx ends or an error is final.
func (l *leader) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.queue.wake:
		case <-timer.C:
		}
		for _, e := range l.queue.take() {
			l.state.Fold(e)
		}
		next, err := l.step(ctx)
		if err != nil {
			if errors.Is(err, errDeposed) || ctx.Err() != nil {
				return err
			}
			if l.progress.isStuck(err, time.Now()) {
				return fmt.Errorf("%w: %w", errStuck, err)
			}
			l.h.warn("cannot assign: " + err.Error())
			next = l.h.now().Add(retryAfter)
		}
		timer.Reset(time.Until(next))
	}
}

// retryAfter is the delay of a leader after an error. idleFor is the longest time between two
// computations without an event.
const (
	retryAfter = 5 * time.Second
	idleFor    = 10 * time.Minute
)

// step computes once and makes the result durable. It returns the time of the next computation.
func (l *leader) step(ctx context.Context) (next time.Time, err error) {
	now := l.h.now()
	if _, _, asked := l.h.records.Refs.Get(records.RefKey(l.state.Branch)); !asked {
		return now.Add(idleFor), nil // the first poll is not finished, or no repository is configured
	}
	in := l.state.Input(now.Unix(), l.revisions)
	if missing := assign.Needed(in); len(missing) > 0 {
		if err := l.read(ctx, missing, in.Targets); err != nil {
			return now, err
		}
	}
	in.Revisions = maps.Clone(l.revisions) // the output keeps this map for Why
	out := assign.Compute(in)
	if out.Epoch > l.state.Epoch {
		return now, l.begin(ctx, out.Epoch)
	}
	if err := l.write(ctx, out.Assignments); err != nil {
		return now, err
	}
	l.state.ApplyOutput(out)
	l.forget(in)
	l.progress.made(time.Now())
	l.offer(out.Alarms)
	l.h.computed(out)
	next = now.Add(idleFor)
	if out.Next > 0 && time.Unix(out.Next, 0).Before(next) {
		next = time.Unix(out.Next, 0)
	}
	return next, nil
}

// read compiles commits for the targets that exist now.
func (l *leader) read(ctx context.Context, commits []string, targets []fleet.Target) error {
	for _, commit := range commits {
		c, err := l.h.contents(ctx, commit, targets)
		if err != nil {
			return err
		}
		l.revisions[commit] = c
	}
	return nil
}

// forget removes compiled commits that are not the commit of any ref.
func (l *leader) forget(in assign.Input) {
	used := map[string]bool{}
	for _, r := range in.Refs {
		used[r.Commit] = true
	}
	for commit := range l.revisions {
		if !used[commit] {
			delete(l.revisions, commit)
		}
	}
}

// begin begins a higher epoch, because agents have seen a higher one than this store has.
func (l *leader) begin(ctx context.Context, epoch uint64) error {
	was, rev, _ := l.h.records.Epochs.Get(records.EpochKey)
	if epoch <= was.Number {
		return fmt.Errorf("cannot begin the epoch %d after %d", epoch, was.Number)
	}
	r := records.Epoch{Number: epoch, Begun: l.h.now().Unix(),
		Why: "agents have newer assignments than the store: it was lost, or restored from a backup"}
	if err := l.h.records.Epochs.Put(ctx, records.EpochKey, r, rev); err != nil {
		return err
	}
	l.state.Begin(epoch)
	l.queue.add(assign.Event{})
	return l.h.events.Record(ctx, fleet.HubEvent{Kind: fleet.LeaderChanged, Text: fmt.Sprintf("epoch %d began: %s", epoch, r.Why)})
}

// together is the number of assignments in one batch, which syncs the disk once. It is small enough
// that the first agents start while later batches are prepared. writers limits concurrent writes if
// the store does not accept batches.
const (
	together = 100
	writers  = 64
)

func (l *leader) write(ctx context.Context, all []fleet.Assignment) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2) // one batch is prepared while another is written
	for part := range slices.Chunk(all, together) {
		g.Go(func() error {
			now := slices.Clone(part)
			for i := range now {
				now[i].Issued = l.h.now().Unix()
			}
			err := l.h.giveAll(ctx, l.fence, now)
			if err == nil {
				l.progress.made(time.Now())
			}
			return err
		})
	}
	return g.Wait()
}

// offer replaces the alarms that wait to be stored.
func (l *leader) offer(alarms []assign.Alarm) {
	select {
	case <-l.alarms:
	default:
	}
	l.alarms <- alarms // never blocks: only one goroutine offers
}

// keepAlarms stores the alarms from offer until ctx ends.
func (l *leader) keepAlarms(ctx context.Context, keep func(context.Context, []assign.Alarm)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case alarms := <-l.alarms:
			keep(ctx, alarms)
		}
	}
}

// raise records an event for each new alarm, and stores all alarms for the other hubs and the next
// leader.
func (l *leader) raise(ctx context.Context, alarms []assign.Alarm) {
	alarms = alarms[:min(len(alarms), maxAlarms)]
	was, rev, _ := l.h.records.Alarms.Get(records.AlarmsKey)
	for _, a := range alarms {
		if !slices.ContainsFunc(was, func(b assign.Alarm) bool { return a.Kind == b.Kind && a.Text == b.Text }) {
			l.h.events.Note(ctx, fleet.HubEvent{Kind: alarmKind(a.Kind), Module: a.Module, Text: string(a.Kind), Error: a.Text})
		}
	}
	if reflect.DeepEqual(was, alarms) || len(was)+len(alarms) == 0 {
		return
	}
	if err := l.h.records.Alarms.Put(ctx, records.AlarmsKey, alarms, rev); err != nil && ctx.Err() == nil {
		l.h.warn("cannot store the alarms: " + err.Error())
	}
}

// maxAlarms limits the number of alarms.
const maxAlarms = 300

// alarmKind returns the kind of the event for an alarm.
func alarmKind(k assign.AlarmKind) fleet.HubEventKind {
	if k == assign.Unreadable || k == assign.Unresolved {
		return fleet.RepositoryUnreadable
	}
	return fleet.AssignmentBlocked
}
