package round

import (
	"context"

	"fettle.dev/fettle/internal/fleet/fanout"
)

// Round is one operation on targets. Only Work must be set.
type Round struct {
	Options fanout.Options
	Part    string // of a command, for the outcomes
	// Work is the operation on one target. Several goroutines call it at the same time.
	Work func(ctx context.Context, target string) Outcome
	// Interrupts stops the round gently at the first value, and at once at the second.
	Interrupts <-chan struct{}
	// Ended receives the outcome of a target as soon as it is known, also of a skipped target.
	Ended func(target string, o Outcome)
	// Observe receives each event after Ended. Calls of both are from one goroutine.
	Observe func(fanout.Event)
}

// finished is the outcome of a target, on the way from its goroutine.
type finished struct {
	target  string
	outcome Outcome
}

// Run performs the operation, and returns an outcome for each target. stopped is the reason why no further
// targets began, "" if all began.
func (r Round) Run(ctx context.Context, targets []string) (all map[string]Outcome, stopped string) {
	all = make(map[string]Outcome, len(targets))
	done := make(chan finished, len(targets))
	work := func(ctx context.Context, target string) fanout.Outcome {
		o := r.Work(ctx, target)
		o.Part = r.Part
		done <- finished{target, o}
		return fanout.Outcome{Status: o.Status, Why: o.Line}
	}
	fanout.Run(ctx, targets, r.Options, work, r.Interrupts, func(e fanout.Event) {
		for len(done) > 0 {
			d := <-done
			all[d.target] = d.outcome
		}
		switch e.What {
		case fanout.Ended:
			r.ended(all, e)
		case fanout.Stopped, fanout.Cancelled:
			stopped = e.Why
		}
		if r.Observe != nil {
			r.Observe(e)
		}
	})
	return all, stopped
}

// ended adds the outcome of a target that did not begin, and passes the outcome on.
func (r Round) ended(all map[string]Outcome, e fanout.Event) {
	o, ok := all[e.Target]
	if !ok {
		o = Outcome{Status: e.Outcome.Status, Line: e.Outcome.Why, Part: r.Part}
		all[e.Target] = o
	}
	if r.Ended != nil {
		r.Ended(e.Target, o)
	}
}
