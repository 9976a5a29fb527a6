package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// LeaseConfig configures a lease.
type LeaseConfig struct {
	Key string // of the lease in the store
	// Holder names this process; no two running processes may have the same name. A process with
	// the name of the current holder is its successor and does not wait.
	Holder string
	// Validity is how long the lease is valid without a renewal; 0 means 10 seconds. The holder renews
	// it after a third of this time. Another process takes it over after one and a quarter of this
	// time.
	Validity time.Duration
}

// Lead calls lead whenever this process holds a lease; calls are never concurrent. It returns when
// ctx ends, or when lead returns while the lease is held; it then releases the lease. The context
// of lead ends when the lease is lost. The fence increases with each holder: writers add it to
// their writes, and readers refuse a lower fence than they have seen.
func Lead(ctx context.Context, s fleet.Store, c LeaseConfig, lead func(ctx context.Context, fence uint64)) error {
	if err := CheckEntry(c.Key, nil); err != nil || c.Holder == "" {
		return errors.Join(err, errors.New("cannot hold a lease without a key and a name"))
	}
	watching, stop := context.WithCancel(ctx)
	l := &lease{
		store: s, key: c.Key, lead: lead, election: election{self: c.Holder, good: orElse(c.Validity, 10*time.Second)},
		entries: make(chan fleet.Entry), wrote: make(chan outcome, 1), watched: make(chan struct{}),
	}
	go l.watch(watching)
	l.run(ctx)
	stop()
	<-l.watched
	return ctx.Err()
}

// lease drives an election.
type lease struct {
	store    fleet.Store
	key      string
	lead     func(context.Context, uint64)
	election election

	entries chan fleet.Entry
	wrote   chan outcome
	watched chan struct{}

	cancel   context.CancelFunc // of lead; nil while it does not run
	fence    uint64             // of the running lead
	returned chan struct{}
}

type outcome struct {
	rev uint64
	err error
}

// watch forwards the value of the key in the store, also if there is none.
func (l *lease) watch(ctx context.Context) {
	defer close(l.watched)
	send := func(e fleet.Entry) {
		select {
		case l.entries <- e:
		case <-ctx.Done():
		}
	}
	_ = l.store.Watch(ctx, func(e fleet.Entry) { // it returns when ctx ends
		if e.Key == l.key {
			send(e)
		}
	}, func() { send(fleet.Entry{Key: l.key, Gone: true}) })
}

func (l *lease) run(ctx context.Context) {
	for {
		wake := l.step(ctx)
		t := time.NewTimer(time.Until(wake))
		select {
		case <-ctx.Done():
			t.Stop()
			l.end(ctx)
			return
		case <-l.returned:
			t.Stop()
			if l.election.held {
				l.end(ctx)
				return
			}
			l.cancel, l.returned = nil, nil
		case e := <-l.entries:
			l.election.saw(l.claimOf(e), e.Rev, e.Gone, time.Now())
		case o := <-l.wrote:
			l.election.wrote(o.rev, o.err, time.Now())
		case <-t.C:
		}
		t.Stop()
	}
}

// claimOf decodes a claim. An invalid value means that the lease is free. Its fence is unknown, so
// the revision of the store, which also only increases, replaces it.
func (l *lease) claimOf(e fleet.Entry) claim {
	var c claim
	if err := json.Unmarshal(e.Value, &c); err != nil {
		return claim{Fence: e.Rev}
	}
	return c
}

// step executes the decision of the election, and returns the time of the next step.
func (l *lease) step(ctx context.Context) time.Time {
	do, wake := l.election.tick(time.Now())
	switch {
	case l.cancel != nil && (!l.election.held || l.election.seen.Fence != l.fence):
		l.cancel()
	case l.cancel == nil && l.election.held:
		l.begin(ctx)
	}
	if do != nil {
		go l.write(ctx, *do)
	}
	return wake
}

func (l *lease) begin(ctx context.Context) {
	leading, cancel := context.WithCancel(ctx)
	returned, fence := make(chan struct{}), l.election.seen.Fence
	l.cancel, l.returned, l.fence = cancel, returned, fence
	go func() {
		defer close(returned)
		defer cancel()
		l.lead(leading, fence)
	}()
}

func (l *lease) write(ctx context.Context, w write) {
	ctx, cancel := context.WithTimeout(ctx, l.election.good)
	defer cancel()
	l.wrote <- l.put(ctx, w)
}

func (l *lease) put(ctx context.Context, w write) outcome {
	b, err := json.Marshal(w.Claim)
	if err != nil {
		return outcome{err: fmt.Errorf("cannot write a claim: %w", err)}
	}
	rev, err := l.store.Update(ctx, l.key, b, w.Rev)
	return outcome{rev, err}
}

// end waits for lead and releases the lease, so that the next holder need not wait.
func (l *lease) end(ctx context.Context) {
	if l.cancel != nil {
		l.cancel()
		<-l.returned
	}
	e := &l.election
	if e.asking {
		o := <-l.wrote
		e.wrote(o.rev, o.err, time.Now())
	}
	if !e.held {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.good/4)
	defer cancel()
	l.put(ctx, write{Claim: claim{Fence: e.seen.Fence, Beat: e.seen.Beat + 1},
		Rev: e.rev}) // if this fails, the lease expires
}

// Holder returns the holder of a lease, or "" if it is free, from the possibly outdated store.
// errors.Is(err, fleet.ErrNotFound) is true if there never was a holder.
func Holder(ctx context.Context, s fleet.Store, key string) (string, error) {
	e, err := s.Get(ctx, key)
	if err != nil {
		return "", err
	}
	var c claim
	err = json.Unmarshal(e.Value, &c)
	return c.Holder, err
}
