// Package locks stores the locks of a fleet, and grants their slots to targets.
//
//	s := locks.New(locks.Config{Now: time.Now, Records: table, Events: recorder, Trusted: registry.Trusted, …})
//	slot, err := s.Acquire(ctx, "reboots", target)
//	mux.HandleFunc("POST "+locks.PreRebootPath, s.ServePreReboot)
//
// Each hub decides alone, and stores its decision only if no other hub changed the lock since. A successful answer
// is always stored, also if it changes nothing: otherwise it could depend on an outdated copy of the lock.
package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Config contains what Locks need of their hub.
type Config struct {
	Now func() time.Time
	// Uptime returns a time that increases evenly, and that no correction of the clock affects. nil: the time since New.
	Uptime  func() time.Duration
	Warn    func(text string)
	Records *records.Table
	Events  events.Recorder
	// Related returns the supervisors of a target and the targets in its guests, as far as they are known. nil: none.
	Related func(ctx context.Context, id fleet.TargetID) ([]fleet.TargetID, error)
	// MayChange returns an error while most hubs are down.
	MayChange func() error
	// Trust verifies client certificates. Trusted returns an active target, or an error.
	Trust   func() (pki.Trust, error)
	Trusted func(ctx context.Context, id fleet.TargetID) (fleet.Target, error)
}

// Locks are the locks of a fleet. They are safe for concurrent use: the store orders the changes, and the limiters
// and declared have locks of their own.
type Locks struct {
	Config
	limiter limits.TargetLimiter
	// runLimiter limits the requests of runs, each of which can need several locks.
	runLimiter limits.TargetLimiter
	declared   declared
	observed   records.Observed[coordination.Holder]
}

// The limits of the requests of one target.
const (
	requestBurst    = 20
	requestInterval = 5 * time.Second
	runBurst        = 60
	runInterval     = 100 * time.Millisecond // a run renews up to 10 leases of 10 s
)

// New returns the locks that the store has.
func New(c Config) *Locks {
	if c.Uptime == nil {
		began := time.Now()
		c.Uptime = func() time.Duration { return time.Since(began) }
	}
	return &Locks{Config: c, declared: declared{wake: make(chan struct{}, 1)},
		limiter:    limits.TargetLimiter{Every: rate.Every(requestInterval), Burst: requestBurst},
		runLimiter: limits.TargetLimiter{Every: rate.Every(runInterval), Burst: runBurst}}
}

// ErrUnknown is in the chain of the error if no such lock is declared.
var ErrUnknown = errors.New("the fleet has no such lock")

// RefusedError is the error of a request for a slot that is not granted now.
type RefusedError struct {
	coordination.Answer
	Why string
}

func (e *RefusedError) Error() string { return "cannot grant a slot: " + e.Why }

// Acquire grants a slot, or renews the lease of the owner's slot. If no slot is free, the error is a *RefusedError.
func (s *Locks) Acquire(ctx context.Context, name, owner string) (coordination.Holder, error) {
	return s.acquire(ctx, name, owner, 0)
}

func (s *Locks) acquire(ctx context.Context, name, owner string, number uint64) (coordination.Holder, error) {
	if err := coordination.CheckOwner(owner); err != nil {
		return coordination.Holder{}, err
	}
	e := coordination.Event{Kind: coordination.Acquire, Owner: owner, Order: number}
	var err error
	if e.Related, err = s.related(ctx, name, owner); err != nil {
		return coordination.Holder{}, err
	}
	state, a, err := s.decide(ctx, name, e, order{})
	switch {
	case err != nil:
		return coordination.Holder{}, err
	case a.Refused != "":
		return coordination.Holder{}, &RefusedError{Answer: a, Why: s.explain(state, a)}
	}
	return a.Holder, nil
}

// related returns the owners that must not have a slot of a lock at the same time as an owner: of the lock that limits
// reboots, its supervisors and the targets in its guests.
func (s *Locks) related(ctx context.Context, name, owner string) (out []string, err error) {
	if s.Related == nil || name != s.rebootLock() {
		return nil, nil
	}
	all, err := s.Related(ctx, fleet.TargetID(owner))
	if err != nil {
		return nil, fmt.Errorf("cannot find the supervisors and guests of the target: %w", err)
	}
	for _, id := range all {
		out = append(out, string(id))
	}
	return out, nil
}

// rebootLock returns the name of the declared lock that limits reboots, or "".
func (s *Locks) rebootLock() string {
	for _, l := range s.Records.Locks.Values() {
		if l.Reboots && !l.Undeclared {
			return l.Name
		}
	}
	return ""
}

// explain returns the cause of a refusal, with the name of a target.
func (s *Locks) explain(state coordination.State, a coordination.Answer) string {
	if a.Refused == coordination.Related {
		t, _, _ := s.Records.Targets.Get(a.Blocker)
		return fmt.Sprintf("%s has a slot of the lock %s: a supervisor and its guests do not reboot at the same time",
			cmp.Or(t.Name, a.Blocker), state.Name)
	}
	return a.Explain(state)
}

// Release releases the slot of an owner, if it has one. by is the user that orders it, or "" for the owner itself.
func (s *Locks) Release(ctx context.Context, name, owner, by, why string) error {
	_, _, err := s.decide(ctx, name, coordination.Event{Kind: coordination.Release, Owner: owner}, order{by, why})
	return err
}

// decide applies an event to the newest state of a lock, and stores the result. by is the cause for the log.
func (s *Locks) decide(ctx context.Context, name string, e coordination.Event,
	by order) (coordination.State, coordination.Answer, error) {
	e.Restored = s.restored()
	for {
		was, rev, err := s.read(ctx, name)
		if err != nil {
			return was, coordination.Answer{}, err
		}
		e.Observed = s.see(was)
		next, a := coordination.Decide(was, e, s.Now().UnixMilli())
		if len(a.Changes) == 0 && (a.Refused != "" || e.Kind == coordination.Tick) {
			return next, a, nil
		}
		err = s.Records.Locks.Put(ctx, name, records.Lock{Format: records.LockFormat, State: next}, rev)
		if err == nil {
			s.see(next)
			record(ctx, s.Events, next, a, by)
			return next, a, nil
		}
		if a.Refused != "" && !errors.Is(err, fleet.ErrConflict) {
			return was, a, nil // a refusal needs no write
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return was, a, fmt.Errorf("cannot store the lock %s: %w", name, err)
		}
		if err := ctx.Err(); err != nil {
			return was, a, err
		}
	}
}

// see returns the time for which this hub has seen the lease of each owner.
func (s *Locks) see(l coordination.State) map[string]time.Duration {
	leases := map[string]coordination.Holder{}
	for _, h := range l.Holders {
		h.Ended = false // the end of a lease does not renew it
		leases[h.Owner] = h
	}
	return s.observed.See(l.Name, leases, s.Uptime())
}

// read returns the newest state of a lock, and its revision.
func (s *Locks) read(ctx context.Context, name string) (coordination.State, uint64, error) {
	if err := coordination.CheckName(name); err != nil {
		return coordination.State{}, 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	e, err := s.Records.Locks.Newest(ctx, name)
	if errors.Is(err, fleet.ErrNotFound) {
		return coordination.State{}, 0, fmt.Errorf("%w: %s", ErrUnknown, name)
	}
	if err != nil {
		return coordination.State{}, 0, err
	}
	l, err := records.ParseLock(e.Value)
	return l.State, e.Rev, err
}

// restored returns the time at which the fleet was restored, in ms since 1970; 0: never.
func (s *Locks) restored() int64 {
	e, _, _ := s.Records.Epochs.Get(records.EpochKey)
	return e.Restored * 1000
}
