package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// rule is the epoch that a fleet is in. It only rises.
type rule struct {
	Epoch uint64 `json:"epoch"`
	Begun int64  `json:"begun"` // seconds since 1970
	Why   string `json:"why"`
}

// queue holds events for whoever leads. It is never full: events are of things that
// there are a bounded number of, and folding them is fast.
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

// leader is the hub that computes assignments. It belongs to one goroutine.
type leader struct {
	h     *Hub
	fence uint64
	queue *queue
	state *assign.State
	// revisions are what commits say, for the targets that were enrolled when they were
	// asked.
	revisions map[string]assign.Contents
	alarms    []assign.Alarm
}

// lead computes assignments until ctx ends or another hub leads.
func (h *Hub) lead(ctx context.Context, fence uint64) error {
	epoch, err := h.epoch(ctx)
	if err != nil {
		return err
	}
	l := &leader{h: h, fence: fence, queue: newQueue(), state: assign.NewState(epoch, h.repository().Branch), revisions: map[string]assign.Contents{}}
	h.leading(l)
	defer h.leading(nil)
	h.tellAll(l.queue.add)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.tend(ctx) })
	// A hub that takes over has another one's knowledge of where refs lead, and no mirror
	// yet: it computes when the repository has been asked once.
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
	err = g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// epoch reads the epoch of the store, which is made when there is none: the store is
// new, or somebody deleted it. Seconds count, so that it is above those of any store
// before; agents who have seen a higher one all the same correct it.
func (h *Hub) epoch(ctx context.Context) (uint64, error) {
	for {
		if r, _, ok := h.rules.get(ruleKey); ok {
			return r.Epoch, nil
		}
		now := h.now().Unix()
		err := h.rules.put(ctx, ruleKey, rule{Epoch: uint64(max(now, 1)), Begun: now, Why: "the store is new"}, 0)
		if err != nil && !errors.Is(err, fleet.ErrConflict) {
			return 0, fmt.Errorf("cannot begin an epoch: %w", err)
		}
	}
}

const ruleKey = "epoch"

// run folds events and computes whenever something may have changed.
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
			l.h.warn("cannot assign: " + err.Error())
			next = l.h.now().Add(retryAfter)
		}
		timer.Reset(time.Until(next))
	}
}

// retryAfter is how long a leader waits after a mistake, and idleFor how long it trusts
// that nothing happens without an event.
const (
	retryAfter = 5 * time.Second
	idleFor    = 10 * time.Minute
)

// step computes once and makes what comes of it durable.
func (l *leader) step(ctx context.Context) (next time.Time, err error) {
	now := l.h.now()
	if _, _, asked := l.h.refs.get(refKey(l.state.Branch)); !asked {
		return now.Add(idleFor), nil // the repository has not answered yet, or there is none
	}
	in := l.state.Input(now.Unix(), l.revisions)
	if missing := assign.Needed(in); len(missing) > 0 {
		if err := l.read(ctx, missing, in.Targets); err != nil {
			return now, err
		}
	}
	in.Revisions = maps.Clone(l.revisions) // the output keeps them, for whoever asks why
	out := assign.Compute(in)
	if out.Epoch > l.state.Epoch {
		return now, l.begin(ctx, out.Epoch)
	}
	if err := l.write(ctx, out.Assignments); err != nil {
		return now, err
	}
	l.state.Took(out)
	l.forget(in)
	l.raise(ctx, out.Alarms)
	l.h.computed(out)
	next = now.Add(idleFor)
	if out.Next > 0 && time.Unix(out.Next, 0).Before(next) {
		next = time.Unix(out.Next, 0)
	}
	return next, nil
}

// read asks what commits say, with the targets that there are.
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

// forget lets go the commits that nothing leads to any more.
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

// begin begins a higher epoch: agents have seen more than this store knows.
func (l *leader) begin(ctx context.Context, epoch uint64) error {
	was, rev, _ := l.h.rules.get(ruleKey)
	if epoch <= was.Epoch {
		return fmt.Errorf("cannot begin the epoch %d after %d", epoch, was.Epoch)
	}
	r := rule{Epoch: epoch, Begun: l.h.now().Unix(), Why: "agents have seen more than the store knew: it was restored from a backup, or lost"}
	if err := l.h.rules.put(ctx, ruleKey, r, rev); err != nil {
		return err
	}
	l.state.Begin(epoch)
	l.queue.add(assign.Event{})
	return l.h.record(ctx, fleet.HubEvent{Kind: fleet.Led, Text: fmt.Sprintf("epoch %d began: %s", epoch, r.Why)})
}

// writers is how many assignments are written at once: each is a flush of the disk by
// itself, and those under way share them.
const writers = 64

func (l *leader) write(ctx context.Context, all []fleet.Assignment) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, a := range all {
		a.Issued = l.h.now().Unix()
		g.Go(func() error { return l.h.give(ctx, l.fence, a) })
	}
	return g.Wait()
}

// raise tells alarms that were not there before.
func (l *leader) raise(ctx context.Context, alarms []assign.Alarm) {
	for _, a := range alarms {
		if !slices.ContainsFunc(l.alarms, func(b assign.Alarm) bool { return a.Kind == b.Kind && a.Text == b.Text }) {
			if err := l.h.record(ctx, fleet.HubEvent{Kind: alarmKind(a.Kind), Module: a.Module, Text: string(a.Kind), Error: a.Text}); err != nil {
				l.h.warn(err.Error())
			}
		}
	}
	l.alarms = alarms
}

// alarmKind is what an alarm is in the log.
func alarmKind(k assign.AlarmKind) fleet.HubEventKind {
	if k == assign.Unreadable || k == assign.Unresolved {
		return fleet.Unread
	}
	return fleet.Guarded
}
