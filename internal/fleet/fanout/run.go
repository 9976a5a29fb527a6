package fanout

import (
	"context"
	"sync"
	"time"
)

// report is what one goroutine has to say.
type report struct {
	target  string
	outcome Outcome
}

// Run does work on every target and waits until all of it is over. work is called
// once for each target that starts, each in a goroutine of its own; its context
// ends when it shall stop, with the cause ErrInterrupted or that of ctx, and then
// it has to return soon, with what became of its target.
//
// The first of interrupts lets the running ones finish and starts none; the second
// cancels them, as the end of ctx does at once. interrupts may be nil. observe is
// told every event in order, in the goroutine of the caller; nil for nobody.
func Run(ctx context.Context, targets []string, o Options, work func(context.Context, string) Outcome, interrupts <-chan struct{}, observe func(Event)) Summary {
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
	if ctx.Err() != nil { // none of them begins
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
