package checks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/lang/query"
)

// world is the host of a tester.
type world struct {
	*checks.Tester[checks.Composition]
	mu    sync.Mutex
	fails string // the reason for which conditions do not hold
	lists map[string][]checks.Check
	seen  seen
	ends  func()
}

// seen is what a tester did.
type seen struct {
	reads, tests int
	told         [][]fleet.CheckResult
	warned       []string
}

func run(t *testing.T, known ...fleet.CheckResult) *world {
	w := &world{lists: map[string][]checks.Check{}}
	w.Tester = &checks.Tester[checks.Composition]{Target: "t", Known: known, Now: time.Now, Again: time.Minute,
		Warn:    func(text string) { w.do(func() { w.seen.warned = append(w.seen.warned, text) }) },
		Changed: func(all []fleet.CheckResult) { w.do(func() { w.seen.told = append(w.seen.told, all) }) },
		Read: func(_ context.Context, c checks.Composition) ([]checks.Check, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen.reads++
			list, ok := w.lists[c.Has.Name]
			if !ok {
				return nil, errors.New("no such composition")
			}
			return list, nil
		},
		Test: func(context.Context, query.Probe, time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen.tests++
			if w.fails != "" {
				return errors.New(w.fails)
			}
			return nil
		}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.ends = func() { stop(); <-done }
	return w
}

func (w *world) see() (out seen) {
	w.do(func() { out = w.seen })
	return out
}

// do changes the host while the tester runs.
func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) applied(name string) {
	w.Applied(checks.Composition{Has: fleet.Assignment{Name: name}})
}

// TestTester: only changes are told. Without checks, nothing is tested.
func TestTester(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t)
		defer w.ends()
		w.do(func() { w.lists["none"] = nil })
		w.do(func() { w.lists["one"] = []checks.Check{check("cluster/a", "x", "d", 10, 0)} })
		w.applied("none")
		time.Sleep(time.Hour)
		synctest.Wait()
		if w.see().tests+len(w.see().told) > 0 || w.see().reads != 1 {
			t.Errorf("%d tests, %d reads, %v", w.see().tests, w.see().reads, w.see().told)
		}
		w.applied("one")
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := w.see(); len(s.told) != 1 || s.told[0][0].Outcome != fleet.CheckOK || s.tests < 360 || s.tests > 401 {
			t.Errorf("%d tests, %+v", w.see().tests, w.see().told)
		}
		w.do(func() { w.fails = "it is away" })
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := w.see(); len(s.told) != 2 || s.told[1][0].Outcome != fleet.CheckFailed ||
			s.told[1][0].Text != "it is away" {
			t.Errorf("%+v", w.see().told)
		}
		w.applied("none")
		synctest.Wait()
		tests := w.see().tests
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(w.see().told) != 3 || len(w.see().told[2]) != 0 || w.see().tests != tests {
			t.Errorf("%d more tests, %+v", w.see().tests-tests, w.see().told)
		}
	})
}

// TestUnreadable: the previous checks are tested until the new ones can be read.
func TestUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t)
		defer w.ends()
		w.do(func() { w.lists["one"] = []checks.Check{check("cluster/a", "x", "d", 10, 0)} })
		w.applied("one")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.applied("two")
		synctest.Wait()
		tests := w.see().tests
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if w.see().tests == tests || len(w.see().warned) != 1 || !strings.Contains(w.see().warned[0], "no such composition") {
			t.Errorf("%d tests, %q", w.see().tests-tests, w.see().warned)
		}
		w.do(func() { w.lists["two"] = nil })
		time.Sleep(time.Minute)
		synctest.Wait()
		if last := w.see().told[len(w.see().told)-1]; len(last) != 0 {
			t.Errorf("%+v", last)
		}
	})
}

// TestRestart: the results of the previous process are not told again, and the check is soon tested.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, fleet.CheckResult{Scope: "cluster/a", Check: "x", Digest: "d", Outcome: fleet.CheckOK, Since: 3})
		defer w.ends()
		w.do(func() { w.lists["one"] = []checks.Check{check("cluster/a", "x", "d", 3600, 0)} })
		w.applied("one")
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(w.see().told) != 0 || w.see().tests != 1 {
			t.Errorf("%d tests, %+v", w.see().tests, w.see().told)
		}
	})
}

// TestTooManyChecks: the limit is warned about.
func TestTooManyChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t)
		defer w.ends()
		for i := range fleet.MaxChecks + 1 {
			w.lists["many"] = append(w.lists["many"], check("cluster/a", fmt.Sprintf("x%03d", i), "d", 10, 0))
		}
		w.applied("many")
		time.Sleep(time.Minute)
		synctest.Wait()
		if last := w.see().told[len(w.see().told)-1]; len(last) != fleet.MaxChecks || len(w.see().warned) != 1 {
			t.Errorf("%d results, %q", len(last), w.see().warned)
		}
	})
}

// TestMemory: only the checks of the same composition are loaded.
func TestMemory(t *testing.T) {
	m := checks.Memory{Files: mem.NewFS(mem.Options{}), File: "/checks.json"}
	c := check("cluster/a", "x", "d", 10, 0)
	c.HTTP, c.From = "http://x/", []string{"mon"}
	if _, ok := m.Load("1"); ok {
		t.Error("it has something")
	}
	if err := m.Save("1", []checks.Check{c}); err != nil {
		t.Fatal(err)
	}
	list, ok := m.Load("1")
	if !ok || len(list) != 1 || list[0].HTTP != c.HTTP || !slices.Equal(list[0].From, c.From) || list[0].Scope != c.Scope {
		t.Errorf("%+v", list)
	}
	if _, ok := m.Load("2"); ok {
		t.Error("it has another composition")
	}
}
