package machine_test

import (
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// readyNow returns what the next heartbeat reports.
func (w *world) readyNow(t *testing.T) bool {
	t.Helper()
	w.did = nil
	w.step(machine.Link{})
	w.step(machine.Link{Up: true})
	for _, a := range w.did {
		if b, ok := a.(machine.Beat); ok {
			return b.Beat.Ready
		}
	}
	t.Fatal("no heartbeat")
	return false
}

// TestReadyTargets: a target is ready only if its whole assignment is applied and nothing failed.
func TestReadyTargets(t *testing.T) {
	next := func(change func(a *fleet.Assignment)) func(w *world) {
		return func(w *world) {
			a := assignment(2, "modules/a=1")
			change(&a)
			w.offer(a)
		}
	}
	ends := func(o machine.Outcome) func(w *world) {
		return func(w *world) {
			w.step(machine.Touched{})
			w.endRun(o)
		}
	}
	drifted := map[string]machine.Part{"modules/a": {Drift: 1}}
	for what, c := range map[string]struct {
		then  func(w *world)
		ready bool
	}{
		"applied":          {func(*world) {}, true},
		"same content":     {next(func(*fleet.Assignment) {}), true},
		"withdrawn":        {next(func(a *fleet.Assignment) { a.Withdrawn = "suspended" }), false},
		"new root bundle":  {next(func(a *fleet.Assignment) { a.Root.Bundle = bundle("", "other") }), false},
		"new bundle":       {next(func(a *fleet.Assignment) { a.Modules[0].Bundle = bundle("modules/a", "2") }), false},
		"new module":       {next(func(a *fleet.Assignment) { *a = assignment(2, "modules/a=1", "modules/b=1") }), false},
		"failed":           {ends(machine.Outcome{Result: machine.Failed, Run: 2, Error: "x"}), false},
		"failed in module": {ends(failing(machine.Failed)), false},
		"drifted":          {ends(machine.Outcome{Result: machine.Done, Parts: drifted}), false},
	} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		c.then(w)
		if got := w.readyNow(t); got != c.ready {
			t.Errorf("%s: ready is %t", what, got)
		}
	}
}

// TestTroubleOfAWithdrawnTarget: after a withdrawal, a successful run of the applied composition ends
// its trouble.
func TestTroubleOfAWithdrawnTarget(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Failed, Run: 2, Error: "disk full"})
	gone := assignment(2, "modules/a=1")
	gone.Withdrawn = "suspended"
	w.offer(gone)
	w.untilRun(t)
	w.endRun(machine.Outcome{Result: machine.Done, Run: 3})
	if k := w.durable(); k.Error != "" || k.Attempts != (machine.Attempts{}) {
		t.Errorf("%q, %+v", k.Error, k.Attempts)
	}
}

// TestManyDeliveredReports: the outbox is full only if many reports wait, not if many were delivered.
func TestManyDeliveredReports(t *testing.T) {
	w := newWorld()
	w.up = true
	w.step(machine.Link{Up: true})
	for i := range machine.MaxOutbox {
		w.step(machine.JobReceived{Job: fleet.Job{ID: fmt.Sprint(i), What: fleet.JobReport}})
		for w.send != 0 {
			w.deliver()
		}
	}
	if n := len(w.heard); n <= machine.MaxOutbox || len(w.wrong) > 0 {
		t.Errorf("%d reports, %q", n, w.wrong)
	}
}

// TestDeliveryAfterFailures: after a success, the next failed delivery is tried again within a second.
func TestDeliveryAfterFailures(t *testing.T) {
	w := newWorld()
	w.up = true
	w.step(machine.Link{Up: true})
	fail := func() {
		for w.send == 0 {
			w.elapse(w.wake)
		}
		seq := w.send
		w.send = 0
		w.step(machine.Acked{Seq: seq, Error: "no quorum"})
	}
	for range 6 {
		fail()
	}
	for w.send == 0 {
		w.elapse(w.wake)
	}
	w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobReport}})
	w.deliver()
	fail()
	if w.wake > time.Second {
		t.Errorf("tried again in %s", w.wake)
	}
}

// TestHighestNumber: report numbers up to 2^53 are accepted from a hub, as JSON programs can read them.
func TestHighestNumber(t *testing.T) {
	for seq, accepted := range map[uint64]bool{1 << 53: true, 1<<53 + 1: false} {
		m := machine.New(machine.Config{Target: target}, machine.StoredState{}, 0, 0)
		m.Step(machine.Started{}, machine.Now{})
		reports := 0
		for _, a := range m.Step(machine.Numbered{Seq: seq}, machine.Now{}) {
			if _, ok := a.(machine.Append); ok {
				reports++
			}
		}
		if (reports == 1) != accepted {
			t.Errorf("%d: %d reports", seq, reports)
		}
	}
}

// thaws counts the questions whether the host is frozen since the last call.
func (w *world) thaws() (n int) {
	for _, a := range w.did {
		if _, ok := a.(machine.Thaw); ok {
			n++
		}
	}
	w.did = nil
	return n
}

// TestFrozenHosts: a local freeze is checked every 30 seconds, and a change on the frozen host is
// observed without changing it.
func TestFrozenHosts(t *testing.T) {
	for what, freeze := range map[string]func(w *world){
		"noticed at once": func(w *world) { w.step(machine.LocalFreeze{Why: "by ada: lunch"}); w.elapse(30 * time.Second) },
		"noticed in a run": func(w *world) {
			w.step(machine.Touched{})
			w.endRun(machine.Outcome{Result: machine.Frozen, Error: "by ada: lunch"})
			w.step(machine.LocalFreeze{Why: "by ada: lunch"})
			w.endRun(machine.Outcome{Result: machine.Looked})
			w.elapse(30 * time.Second)
		},
	} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		freeze(w)
		w.thaws()
		w.elapse(29 * time.Second)
		if n := w.thaws(); n != 0 {
			t.Errorf("%s: it is asked %d times within 30 seconds", what, n)
		}
		w.elapse(time.Second)
		w.elapse(time.Second)
		if n := w.thaws(); n != 1 {
			t.Errorf("%s: it is asked %d times after 30 seconds", what, n)
		}
		w.step(machine.Touched{})
		if w.run == nil || !w.run.Look {
			t.Errorf("%s: a change is not observed: %s", what, inRun(w))
		}
	}
}

// TestWatchOfTheClock: the clock is watched only for a module that waits for a time: not for a blocked
// module, and not for one that is applied already.
func TestWatchOfTheClock(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	a := assignment(2, "modules/a=1", "modules/b=1<modules/x:availability")
	a.Modules[0].NotBefore = w.now.Wall/int64(time.Second) + 600
	w.offer(a)
	want(t, "states", w.states(), "a ready; b blocked (modules/x is not assigned)")
	if w.run != nil || w.wake < 20*time.Minute {
		t.Errorf("%s, woken in %s", inRun(w), w.wake)
	}
}

// TestSweepDuringAFetch: while content is fetched, the applied composition is still checked.
func TestSweepDuringAFetch(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.step(machine.Offered{Assignment: assignment(2, "modules/a=2")})
	if w.fetch == nil || w.wake > 36*time.Minute {
		t.Errorf("woken in %s", w.wake)
	}
}
