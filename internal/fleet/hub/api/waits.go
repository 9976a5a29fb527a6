package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Barriers are the barriers of the fleet.
type Barriers interface {
	// Barriers returns all barriers, sorted by name. The caller sets the format.
	Barriers(ctx context.Context) ([]document.Barrier, error)
}

// Signals are the signals of the fleet.
type Signals interface {
	// Signals returns all signals, sorted by name. The caller sets the format.
	Signals(ctx context.Context) ([]document.Signal, error)
	// SendSignal and ClearSignal return a Refusal if there is no such signal.
	SendSignal(ctx context.Context, by access.Principal, name string, r document.SignalRequest) error
	ClearSignal(ctx context.Context, by access.Principal, name, why string) error
}

// HandleBarriers registers the handler of barriers.
func HandleBarriers(t *Table, b Barriers) {
	handleGet(t, route.Barriers(), func(ctx context.Context) (document.BarrierPage, error) {
		all, err := b.Barriers(ctx)
		return document.BarrierPage{Format: document.BarrierPageFormat, Barriers: append([]document.Barrier{}, all...)}, err
	})
}

// HandleSignals registers the handlers of signals.
func HandleSignals(t *Table, b Signals) {
	handleGet(t, route.Signals(), func(ctx context.Context) (document.SignalPage, error) {
		all, err := b.Signals(ctx)
		return document.SignalPage{Format: document.SignalPageFormat, Signals: append([]document.Signal{}, all...)}, err
	})
	Handle(t, route.SendSignal(),
		func(ctx context.Context, c Caller, at route.SignalName, r document.SignalRequest) (document.Done, error) {
			return done(b.SendSignal(ctx, c.Principal, at.Signal, r), "The signal %s is sent.", at.Signal)
		})
	Handle(t, route.ClearSignal(),
		func(ctx context.Context, c Caller, at route.SignalName, r document.ReasonRequest) (document.Done, error) {
			if r.Reason == "" {
				return document.Done{}, &Refusal{BadRequest, "cannot clear a signal without a reason",
					"Add a reason: fettle signal clear SIGNAL --reason WHY"}
			}
			return done(b.ClearSignal(ctx, c.Principal, at.Signal, r.Reason), "The signal %s no longer counts as sent.",
				at.Signal)
		})
}
