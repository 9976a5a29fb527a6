package gates

import (
	"context"
	"errors"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// Rollouts is the log of rollouts. *rollouts.Log implements it.
type Rollouts interface {
	// Due returns the verdicts that gates must return now.
	Due(now int64) []rollout.Due
	Order(ctx context.Context, c rollout.Command, now int64) ([]rollout.Event, error)
}

// Asker obtains the verdicts of gates. One goroutine may call Run.
type Asker struct {
	Rollouts Rollouts
	Now      func() time.Time
	Warn     func(text string)
	Programs Programs
	// Record gets the events of stored verdicts.
	Record func(ctx context.Context, events []rollout.Event)

	mu   sync.Mutex
	next map[question]time.Time // questions that must not be asked before a time
}

// question identifies a gate in one bake time.
type question struct {
	rollout, gate string
	wave, period  int
}

func questionOf(d rollout.Due) question {
	return question{d.Rollout, d.Gate.Name, d.Wave, d.Period}
}

// Limits of questions.
const (
	period   = time.Second
	parallel = 8
)

// Run asks all gates that are due, until ctx ends. It returns after the last question.
func (a *Asker) Run(ctx context.Context) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	free := make(chan struct{}, parallel)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		for _, d := range a.Rollouts.Due(a.Now().Unix()) {
			if !a.begin(d) {
				continue
			}
			asking.Go(func() {
				free <- struct{}{}
				a.ask(ctx, d)
				<-free
			})
		}
	}
}

// begin reports whether a gate must be asked now. The stored answer can arrive later than the next tick.
func (a *Asker) begin(d rollout.Due) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for q, at := range a.next {
		if now.After(at) {
			delete(a.next, q)
		}
	}
	if _, waits := a.next[questionOf(d)]; waits {
		return false
	}
	if a.next == nil {
		a.next = map[question]time.Time{}
	}
	a.next[questionOf(d)] = now.Add(time.Hour) // until ask ends
	return true
}

// end permits the next question about a gate, after its interval.
func (a *Asker) end(d rollout.Due) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next[questionOf(d)] = time.Now().Add(time.Duration(d.Gate.Interval) * time.Second)
}

// ask obtains one verdict and stores it.
func (a *Asker) ask(ctx context.Context, d rollout.Due) {
	defer a.end(d)
	verdict, why := a.Programs.Ask(ctx, d)
	if ctx.Err() != nil || d.Repeats(verdict, why) {
		return // another hub asks again, or nothing changes
	}
	events, err := a.Rollouts.Order(ctx, rollout.Command{Action: rollout.ToJudge, Rollout: d.Rollout, Gate: d.Gate.Name,
		Period: d.Period, Verdict: verdict, Why: why}, a.Now().Unix())
	var outdated *rollout.CommandError
	switch {
	case err == nil:
		a.Record(ctx, events)
	case !errors.As(err, &outdated) && ctx.Err() == nil:
		a.Warn("cannot store the verdict of a gate: " + err.Error())
	}
}
