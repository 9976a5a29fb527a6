package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// ErrUntested means that a condition could not be tested, so it neither holds nor fails. Its result is unknown.
var ErrUntested = errors.New("the condition cannot be tested")

// Composition is the applied content of a target.
type Composition struct {
	Has    fleet.Assignment
	Absent []string // assigned modules that it does not contain
}

// Tester tests the checks of scopes that content of the type C declares: a Composition on a target. All fields above mu
// are required.
type Tester[C any] struct {
	Target string              // identity of the target or the hub
	Known  []fleet.CheckResult // of an earlier process
	// Read returns the checks of some content that it tests.
	Read func(ctx context.Context, c C) ([]Check, error)
	// Test tests a condition once, within the limit. nil: it holds. An error that wraps ErrUntested is the reason of an
	// unknown result. Test must be safe for concurrent use.
	Test func(ctx context.Context, p query.Probe, limit time.Duration) error
	// Changed is called with all results, after a change.
	Changed func([]fleet.CheckResult)
	Now     func() time.Time
	Warn    func(text string)
	// Again is the time between two attempts to read the checks.
	Again time.Duration

	mu     sync.Mutex
	newest *C            // not read yet
	poke   chan struct{} // newest is set
}

// wake returns the channel that reports a newer composition.
func (t *Tester[C]) wake() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.poke == nil {
		t.poke = make(chan struct{}, 1)
	}
	return t.poke
}

// Applied makes the tester read the checks of other content. It does not block.
func (t *Tester[C]) Applied(c C) {
	poke := t.wake()
	t.mu.Lock()
	t.newest = &c
	t.mu.Unlock()
	select {
	case poke <- struct{}{}:
	default:
	}
}

func (t *Tester[C]) take() *C {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.newest
	t.newest = nil
	return c
}

// test is a test that ended.
type test struct {
	Check
	failure  string
	untested bool // for the reason failure
}

// Run tests the checks until ctx ends, and waits for the tests. It must be called only once.
func (t *Tester[C]) Run(ctx context.Context) {
	r := running[C]{Tester: t, schedule: NewSchedule(t.Target, t.Known), start: t.Now(), told: t.Known,
		ended: make(chan test), read: make(chan []Check)}
	defer r.work.Wait()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		r.begin(ctx)
		if wait, ok := r.schedule.Wait(r.now()); ok {
			timer.Reset(wait)
		}
		select {
		case <-t.wake():
			if r.reading != nil {
				r.reading()
			}
			r.startReading(ctx, t.take())
		case list := <-r.read:
			r.declare(list)
		case e := <-r.ended:
			if e.untested {
				r.schedule.Skip(e.Check, e.failure, r.now())
			} else {
				r.schedule.End(e.Check, e.failure, r.now())
			}
			r.tell()
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		timer.Stop()
	}
}

// running is the state of Run.
type running[C any] struct {
	*Tester[C]
	schedule *Schedule
	start    time.Time
	told     []fleet.CheckResult
	work     sync.WaitGroup
	ended    chan test
	read     chan []Check
	reading  func() // ends the current reading
}

func (r *running[C]) now() Now {
	now := r.Now()
	return Now{Wall: now.UnixNano(), Mono: now.Sub(r.start)}
}

// begin starts the tests that are due.
func (r *running[C]) begin(ctx context.Context) {
	for _, c := range r.schedule.Begin(r.now()) {
		r.work.Go(func() {
			failure, err := "", r.Test(ctx, c.Probe, seconds(c.Timeout))
			if err != nil {
				failure = cmp.Or(err.Error(), "it failed without a reason")
			}
			select {
			case r.ended <- test{c, failure, errors.Is(err, ErrUntested)}:
			case <-ctx.Done():
			}
		})
	}
}

// declare replaces the checks. Checks above the limit are not tested, so their results are unknown.
func (r *running[C]) declare(list []Check) {
	if len(list) > fleet.MaxChecks {
		r.Warn(fmt.Sprintf("the configuration has %d checks of scopes for this target, which tests only the first %d. Use "+
			"from to select other targets for some of them", len(list), fleet.MaxChecks))
		list = list[:fleet.MaxChecks]
	}
	r.schedule.Declare(list, r.now())
	r.tell()
}

// tell passes on the results, if they have changed.
func (r *running[C]) tell() {
	if now := r.schedule.Results(); !slices.Equal(now, r.told) {
		r.told = now
		r.Changed(now)
	}
}

// startReading reads the checks of some content until it succeeds, or until it is called again.
func (r *running[C]) startReading(ctx context.Context, c *C) {
	if c == nil {
		return
	}
	ctx, r.reading = context.WithCancel(ctx)
	r.work.Go(func() {
		for {
			list, err := r.Read(ctx, *c)
			if err == nil {
				select {
				case r.read <- list:
				case <-ctx.Done():
				}
				return
			}
			if ctx.Err() == nil {
				r.Warn(fmt.Sprintf("cannot read the checks of scopes, so the previous ones are tested; the agent tries again in "+
					"%s: %v", r.Again, err))
			}
			select {
			case <-time.After(r.Again):
			case <-ctx.Done():
				return
			}
		}
	})
}
