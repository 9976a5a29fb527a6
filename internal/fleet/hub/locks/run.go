package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/source"
)

// Declare sets the locks that the repository declares. Run stores them.
func (s *Locks) Declare(all []source.Lock) {
	var out []coordination.Definition
	for _, l := range all {
		out = append(out, coordination.Definition{Name: l.Name, Slots: l.Slots,
			Lease: time.Duration(l.Lease) * time.Second, OnExpiry: coordination.OnExpiry(l.OnExpiry), Reboots: l.Reboots,
			AlarmAfter: time.Duration(l.AlarmAfter) * time.Second,
			Wait:       time.Duration(l.Wait) * time.Second})
	}
	s.declared.set(out)
}

// Forget removes the limits of a target that left the fleet, and makes Run free its slots.
func (s *Locks) Forget(id fleet.TargetID) {
	s.limiter.Forget(id)
	s.runLimiter.Forget(id)
	s.declared.poke()
}

// TidyEvery is the time between two checks of all leases.
const TidyEvery = 15 * time.Second

// Run stores the declared locks and records the ends of leases, until ctx ends. Only the leading hub calls it. It
// must not matter if two hubs do.
func (s *Locks) Run(ctx context.Context) error {
	for {
		if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
			s.Warn("cannot update the locks: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.declared.wake:
		case <-time.After(TidyEvery):
		}
	}
}

// tidy makes the stored locks equal to the declared ones, and applies the time to them.
func (s *Locks) tidy(ctx context.Context) error {
	all, known := s.declared.get()
	var errs []error
	names := map[string]bool{}
	for _, d := range all {
		names[d.Name] = true
		errs = append(errs, s.define(ctx, d))
	}
	for _, l := range s.Records.Locks.Values() {
		kind := coordination.Tick
		if known && !names[l.Name] {
			kind = coordination.Undefine
		}
		errs = append(errs, s.leave(ctx, l.State), s.change(ctx, l.State, kind))
	}
	return errors.Join(errs...)
}

// define stores a declared lock, unless it is stored already.
func (s *Locks) define(ctx context.Context, d coordination.Definition) error {
	if err := d.Check(); err != nil {
		return err
	}
	l, _, ok := s.Records.Locks.Get(d.Name)
	if ok && l.Definition == d && !l.Undeclared {
		return nil
	}
	e := coordination.Event{Kind: coordination.Define, Definition: d}
	_, _, err := s.decide(ctx, d.Name, e, order{})
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	next, a := coordination.Decide(coordination.State{}, e, s.Now().UnixMilli())
	err = s.Records.Locks.Put(ctx, d.Name, records.Lock{Format: records.LockFormat, State: next}, 0)
	if err != nil && !errors.Is(err, fleet.ErrConflict) { // after a conflict, the next call tries again
		return fmt.Errorf("cannot store the lock %s: %w", d.Name, err)
	}
	if err == nil {
		record(ctx, s.Events, next, a, order{})
	}
	return nil
}

// change applies an event to a lock if it has an effect, and removes a lock that has no use.
func (s *Locks) change(ctx context.Context, l coordination.State, kind coordination.EventKind) error {
	e := coordination.Event{Kind: kind, Observed: s.see(l)}
	if _, a := coordination.Decide(l, e, s.Now().UnixMilli()); len(a.Changes) > 0 {
		if _, _, err := s.decide(ctx, l.Name, e, order{}); err != nil {
			return err
		}
	}
	if now, rev, ok := s.Records.Locks.Get(l.Name); ok && now.Empty() {
		if err := s.Records.Locks.RemoveAt(ctx, l.Name, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
			return fmt.Errorf("cannot remove the lock %s: %w", l.Name, err)
		}
	}
	return nil
}
