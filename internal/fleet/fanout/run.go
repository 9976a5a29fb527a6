package fanout

import (
	"context"
	"sync"
	"time"
)

// report is the outcome of one goroutine.
type report struct {
	target  string
	outcome Outcome
}

// Run calls work for every target and waits until all calls have returned. work is called once for
// each started target, in its own goroutine. When its context ends, with the cause ErrInterrupted
// or the cause of ctx, work must return soon with the outcome of its target.
//
// The first of interrupts lets the running targets finish and starts no further ones. The second
// cancels the running targets, as the end of ctx does at once. interrupts may be nil. observe is
// called for every event in order, in the goroutine of the caller; it may be nil.
func Run(ctx context.Context, targets []string, o Options, work func(context.Context, string) Outcome,
	interrupts <-chan struct{}, observe func(Event)) Summary {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := NewMachine(targets, o)
	reports := make(chan report)
	var wait sync.WaitGroup
	act := func(events []Event) {
		for _, e := range events {
			if observe != nil {
				observe(e)
			}
			switch e.What {
			case Started:
				wait.Go(func() { reports <- report{e.Target, work(inner, e.Target)} })
			case Cancelled:
				cancel(ErrInterrupted)
			}
		}
	}
	over := ctx.Done()
	if ctx.Err() != nil { // no target starts
		act(m.Interrupt(time.Now()))
	}
	act(m.Begin(time.Now()))
	for !m.Finished() {
		select {
		case r := <-reports:
			act(m.Ended(r.target, r.outcome, time.Now()))
		case _, more := <-interrupts:
			if !more {
				interrupts = nil
				continue
			}
			act(m.Interrupt(time.Now()))
		case <-over:
			over = nil
			act(m.Interrupt(time.Now()))
			act(m.Interrupt(time.Now()))
		}
	}
	wait.Wait()
	return m.Summary()
}
