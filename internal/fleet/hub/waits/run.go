package waits

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
	"fettle.dev/fettle/internal/lang/query"
)

// Declare sets the barriers and signals that the repository declares. Run stores them.
func (w *Waits) Declare(all query.Coordination) {
	w.declared.set(all)
}

// Forget removes the limits of a target that left the fleet, and makes Run count the members again.
func (w *Waits) Forget(id fleet.TargetID) {
	w.limiter.Forget(id)
	w.declared.poke()
}

// TidyEvery is the time between two checks of all barriers and signals.
const TidyEvery = 15 * time.Second

// Run stores the declared barriers and signals, counts members again, and removes objects that have ended, until ctx
// ends. Only the leading hub calls it. It must not matter if two hubs do.
func (w *Waits) Run(ctx context.Context) error {
	for {
		if err := w.tidy(ctx); err != nil && ctx.Err() == nil {
			w.Warn("cannot update the barriers and signals: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.declared.wake:
		case <-time.After(TidyEvery):
		}
	}
}

// tidy makes the stored objects equal to the declared ones, and applies the time to them.
func (w *Waits) tidy(ctx context.Context) error {
	all, known := w.declared.get()
	return errors.Join(w.tidyBarriers(ctx, all.Barriers, known), w.tidySignals(ctx, all.Signals, known))
}

func (w *Waits) tidyBarriers(ctx context.Context, all []query.Barrier, known bool) error {
	var errs []error
	o, now := w.barriers(), w.Now().UnixMilli()
	names := map[string]bool{}
	for _, b := range all {
		d := barrier.Definition{Name: b.Name, Targets: b.Members, Quorum: b.Quorum,
			OfflineAfter: time.Duration(b.OfflineAfter) * time.Second,
			AlarmAfter:   time.Duration(b.AlarmAfter) * time.Second}
		e := barrier.Event{Kind: barrier.Define, Definition: d, Restored: w.restored()}
		names[d.Name] = true
		s, _, ok := w.Records.Barriers.Get(d.Name)
		if _, a := barrier.Decide(s.State, w.see(s.State, e), now); d.Check() == nil && (!ok || len(a.Changes) > 0) {
			_, _, err := o.apply(ctx, w.Now, d.Name, e, true, order{})
			errs = append(errs, err)
		}
	}
	for _, s := range w.Records.Barriers.Values() {
		e, err := w.event(ctx, s.State.Definition, barrier.Tick)
		if known && !names[s.State.Name] {
			e.Kind = barrier.Undefine
		}
		if _, a := barrier.Decide(s.State, w.see(s.State, e), now); err == nil && len(a.Changes) > 0 {
			_, _, err = o.apply(ctx, w.Now, s.State.Name, e, false, order{})
		}
		errs = append(errs, err, o.remove(ctx, s.State.Name, func(s barrier.State) bool { return s.Empty(now) }))
	}
	return errors.Join(errs...)
}

func (w *Waits) tidySignals(ctx context.Context, all []query.Signal, known bool) error {
	var errs []error
	o, now := w.signals(), w.Now().UnixMilli()
	names := map[string]bool{}
	for _, x := range all {
		d := signal.Definition{Name: x.Name, Keep: time.Duration(x.Keep) * time.Second, Senders: x.Senders}
		e := signal.Event{Kind: signal.Define, Definition: d}
		names[d.Name] = true
		s, _, ok := w.Records.Signals.Get(d.Name)
		if _, a := signal.Decide(s.State, e, now); d.Check() == nil && (!ok || len(a.Changes) > 0) {
			_, _, err := o.apply(ctx, w.Now, d.Name, e, true, order{})
			errs = append(errs, err)
		}
	}
	for _, s := range w.Records.Signals.Values() {
		e := signal.Event{Kind: signal.Tick}
		if known && !names[s.State.Name] {
			e.Kind = signal.Undefine
		}
		if _, a := signal.Decide(s.State, e, now); len(a.Changes) > 0 {
			_, _, err := o.apply(ctx, w.Now, s.State.Name, e, false, order{})
			errs = append(errs, err)
		}
		errs = append(errs, o.remove(ctx, s.State.Name, func(s signal.State) bool { return s.Undeclared }))
	}
	return errors.Join(errs...)
}
