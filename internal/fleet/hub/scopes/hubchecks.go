package scopes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/lang/query"
)

// acceptedFor and refusedFor are the times for which the decision about a commit counts: keys of signers can change.
const (
	acceptedFor = 5 * time.Minute
	refusedFor  = time.Minute
)

// RunChecks tests the checks that hubs test, and stores their results, until ctx ends. Only the leading hub calls it.
// It must not matter if two hubs do: then the newest result counts. Results that cannot be stored are stored later.
func (s *Scopes) RunChecks(ctx context.Context) error {
	t := s.newTester()
	var running sync.WaitGroup
	running.Go(func() { t.Run(ctx) })
	defer running.Wait()
	for {
		if _, all, known := s.declaration(); known {
			t.Applied(all)
		}
		if all, tested := t.results(); tested { // otherwise, the stored results count
			if err := s.storeResults(ctx, all); err != nil && ctx.Err() == nil {
				s.Warn(err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.declared.tests:
		case <-time.After(EvaluateEvery):
		}
	}
}

// hubTester tests checks on this hub.
type hubTester struct {
	checks.Tester[query.Scopes]
	mu     sync.Mutex
	newest []fleet.CheckResult // all results
	tested bool                // newest is set
}

// results returns the newest results, sorted by scope and check. tested means that one has changed since the start.
func (t *hubTester) results() (all []fleet.CheckResult, tested bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest, t.tested
}

func (s *Scopes) newTester() *hubTester {
	t, accepted, known := &hubTester{}, &acceptance{}, []fleet.CheckResult(nil)
	for _, hub := range s.hubResults() {
		known = append(known, hub.Checks...)
	}
	t.Tester = checks.Tester[query.Scopes]{Target: s.OnHub.Hub, Known: known, Now: s.Now, Warn: s.Warn,
		Again: refusedFor,
		Read:  func(_ context.Context, all query.Scopes) ([]checks.Check, error) { return all.HubTests(), nil },
		Test: func(ctx context.Context, p query.Probe, limit time.Duration) error {
			at, _, _ := s.declaration()
			if err := accepted.of(ctx, s, at); err != nil {
				return fmt.Errorf("%w: %w", checks.ErrUntested, err)
			}
			return s.OnHub.Test(ctx, p, limit)
		},
		Changed: func(all []fleet.CheckResult) {
			t.mu.Lock()
			t.newest, t.tested = slices.Clone(all), true
			t.mu.Unlock()
			s.pokeTests()
		}}
	return t
}

// acceptance remembers whether this hub may test conditions of a commit.
type acceptance struct {
	mu    sync.Mutex
	at    fleet.Revision
	why   error
	until time.Time
}

// of returns why this hub may not test conditions of a commit, or nil.
func (a *acceptance) of(ctx context.Context, s *Scopes, at fleet.Revision) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := s.Now()
	switch {
	case s.OnHub.Test == nil || s.OnHub.Accept == nil:
		return errors.New("the hub runs no tasks, so it tests no checks")
	case a.at == at && now.Before(a.until):
		return a.why
	}
	a.at, a.why, a.until = at, s.OnHub.Accept(ctx, at), now.Add(acceptedFor)
	if a.why != nil {
		a.until = now.Add(refusedFor)
	}
	return a.why
}

// storeResults stores the results of this hub in the records of their scopes, unless they are stored already.
func (s *Scopes) storeResults(ctx context.Context, all []fleet.CheckResult) error {
	var errs []error
	changed := false
	s.Records.Scopes.Each(func(id string, f records.Formatted[records.Scope], rev uint64) {
		var own []fleet.CheckResult
		for _, r := range all {
			if r.Scope == id {
				own = append(own, r)
			}
		}
		if f.State.Undeclared || slices.Equal(own, f.State.HubChecks) {
			return
		}
		f.State.Hub, f.State.HubChecks = s.OnHub.Hub, own
		if err := unlessConflict(s.Records.Scopes.Put(ctx, id, f, rev)); err != nil {
			errs = append(errs, fmt.Errorf("cannot store the results of checks of %s: %w", id, err))
		}
		changed = true
	})
	if changed {
		s.forget()
		s.Poke()
	}
	return errors.Join(errs...)
}
