// Package waits stores the barriers and signals of a fleet, for which states of targets wait.
//
//	w := waits.New(waits.Config{Now: time.Now, Records: table, Events: recorder, Trusted: registry.Trusted, …})
//	link.Serve(fleet.MessageWait, w.OnWait)
//
// Each hub decides alone, and stores its decision only if no other hub changed the object since. An answer that changes
// nothing may depend on an outdated copy: the target then waits longer, or gets a result that was true before.
package waits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Config contains what Waits need of their hub.
type Config struct {
	Now func() time.Time
	// Uptime returns a time that increases evenly, and that no correction of the clock affects. nil: the time since New.
	Uptime  func() time.Duration
	Warn    func(text string)
	Records *records.Table
	Events  events.Recorder
	// MayChange returns an error while most hubs are down.
	MayChange func() error
	// Trusted returns an active target, or an error.
	Trusted func(ctx context.Context, id fleet.TargetID) (fleet.Target, error)
	// Observe returns all targets with their state.
	Observe func(ctx context.Context) (map[fleet.TargetID]document.Target, error)
}

// Waits are the barriers and signals of a fleet. They are safe for concurrent use.
type Waits struct {
	Config
	limiter  limits.TargetLimiter
	declared declared
	observed observed
	arrivals records.Observed[barrier.Arrival]
	began    time.Time // this hub cannot know when targets were connected before
}

// The limits of the requests of one target.
const (
	requestBurst    = 60
	requestInterval = 2 * time.Second
)

// New returns the barriers and signals that the store has.
func New(c Config) *Waits {
	if c.Uptime == nil {
		began := time.Now()
		c.Uptime = func() time.Duration { return time.Since(began) }
	}
	return &Waits{Config: c, began: c.Now(), declared: declared{wake: make(chan struct{}, 1)},
		limiter: limits.TargetLimiter{Every: rate.Every(requestInterval), Burst: requestBurst}}
}

// ErrUnknown is in the chain of the error if no such barrier or signal is declared.
var ErrUnknown = errors.New("the repository does not declare it")

// object stores the states of barriers, or of signals.
type object[S, E, A any] struct {
	what, format string
	mirror       *records.Mirror[records.Formatted[S]]
	decide       func(s S, e E, now int64) (S, A)
	// effects returns the number of changes. An answer without changes is not stored.
	effects func(A) int
	// observe adds the times for which this hub has seen parts of the state.
	observe func(S, E) E
	events  events.Recorder
	record  func(ctx context.Context, to events.Recorder, s S, a A, by order)
}

func (w *Waits) barriers() object[barrier.State, barrier.Event, barrier.Answer] {
	return object[barrier.State, barrier.Event, barrier.Answer]{what: "barrier", format: records.BarrierFormat,
		mirror: w.Records.Barriers, decide: barrier.Decide,
		effects: func(a barrier.Answer) int { return len(a.Changes) }, observe: w.see, events: w.Events,
		record: recordBarrier}
}

func (w *Waits) signals() object[signal.State, signal.Event, signal.Answer] {
	return object[signal.State, signal.Event, signal.Answer]{what: "signal", format: records.SignalFormat,
		mirror: w.Records.Signals, decide: signal.Decide,
		effects: func(a signal.Answer) int { return len(a.Changes) }, events: w.Events,
		observe: func(_ signal.State, e signal.Event) signal.Event { return e },
		record:  recordSignal}
}

// see adds the time for which this hub has seen the arrival of each target.
func (w *Waits) see(s barrier.State, e barrier.Event) barrier.Event {
	arrivals := map[string]barrier.Arrival{}
	for _, a := range s.Arrivals {
		arrivals[a.Target] = a
	}
	e.Observed = w.arrivals.See(s.Name, arrivals, w.Uptime())
	return e
}

// apply applies an event to the newest state of an object, and stores the result. created permits a new object.
func (o object[S, E, A]) apply(ctx context.Context, now func() time.Time, name string, e E, created bool,
	by order) (S, A, error) {
	for {
		was, rev, err := o.read(ctx, name)
		if err != nil && !(created && errors.Is(err, ErrUnknown)) {
			var none A
			return was, none, err
		}
		next, a := o.decide(was, o.observe(was, e), now().UnixMilli())
		if o.effects(a) == 0 {
			return next, a, nil
		}
		err = o.mirror.Put(ctx, name, records.Formatted[S]{Format: o.format, State: next}, rev)
		if err == nil {
			o.observe(next, e)
			o.record(ctx, o.events, next, a, by)
			return next, a, nil
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return was, a, fmt.Errorf("cannot store the %s %s: %w", o.what, name, err)
		}
		if err := ctx.Err(); err != nil {
			return was, a, err
		}
	}
}

// read returns the newest state of an object, and its revision.
func (o object[S, E, A]) read(ctx context.Context, name string) (s S, rev uint64, err error) {
	if err := barrier.CheckName(name); err != nil { // the same for signals
		return s, 0, fmt.Errorf("cannot find the %s %.80q: %w", o.what, name, ErrUnknown)
	}
	e, err := o.mirror.Newest(ctx, name)
	if errors.Is(err, fleet.ErrNotFound) {
		return s, 0, fmt.Errorf("cannot find the %s %s: %w", o.what, name, ErrUnknown)
	}
	if err != nil {
		return s, 0, err
	}
	f, err := o.mirror.Parse(e.Value)
	return f.State, e.Rev, err
}

// remove removes an object that has no use.
func (o object[S, E, A]) remove(ctx context.Context, name string, useless func(S) bool) error {
	f, rev, ok := o.mirror.Get(name)
	if !ok || !useless(f.State) {
		return nil
	}
	if err := o.mirror.RemoveAt(ctx, name, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot remove the %s %s: %w", o.what, name, err)
	}
	return nil
}

// restored returns the time at which the fleet was restored, in ms since 1970; 0: never.
func (w *Waits) restored() int64 {
	e, _, _ := w.Records.Epochs.Get(records.EpochKey)
	return e.Restored * 1000
}

// observed is a copy of the state of all targets, which is expensive to make. The mutex protects the fields above it.
type observed struct {
	all map[fleet.TargetID]document.Target
	at  time.Time
	mu  sync.Mutex
}

// observedFor is the time for which the copy is used.
const observedFor = 5 * time.Second

// targets returns the state of all targets. It can be a few seconds old.
func (w *Waits) targets(ctx context.Context) (map[fleet.TargetID]document.Target, error) {
	o, now := &w.observed, w.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if age := now.Sub(o.at); o.all != nil && age >= 0 && age < observedFor {
		return o.all, nil
	}
	all, err := w.Observe(ctx)
	if err != nil {
		return nil, err
	}
	o.all, o.at = all, now
	return all, nil
}
