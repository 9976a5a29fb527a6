package machine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestTimeOfAState: a module has its state since the last transition. A further error or run does not change
// the time.
func TestTimeOfAState(t *testing.T) {
	w := newWorld()
	since := func(what string, want int64) {
		t.Helper()
		if got := w.durable().Modules["modules/a"].Since; got != want {
			t.Errorf("%s: since %s before now", what, time.Duration(w.now.Wall-got))
		}
	}
	w.elapse(time.Minute)
	w.offer(assignment(1, "modules/a=1"))
	since("applying", w.now.Wall)
	w.elapse(time.Minute)
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	ready := w.now.Wall
	since("ready", ready)
	w.elapse(time.Minute)
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Done})
	since("still ready", ready)
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Done, Parts: map[string]machine.Part{"modules/a": {Drift: 1}}})
	since("drifted", w.now.Wall)
}

// TestStatesWithoutChecks: a run without checks ends the drift of a module, but not its failure.
func TestStatesWithoutChecks(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.step(machine.Touched{})
	drift := map[string]machine.Part{"modules/a": {Error: "boom"}, "modules/b": {Drift: 1}}
	w.endRun(machine.Outcome{Result: machine.CheckFailed, Run: 2, Error: "x", Parts: drift})
	failed, _, _ := strings.Cut(w.states(), ";")
	want(t, "after a failure", w.states(), "a pending (the agent tries again) error: boom; b drifted")
	w.step(machine.Touched{})
	if w.run == nil || w.run.Checks {
		t.Fatalf("noticed: %s", inRun(w))
	}
	w.endRun(machine.Outcome{Result: machine.Done})
	want(t, "after a run without checks", w.states(), failed+"; b ready")
}

// TestRetryThatFailsAgain: the end of an attempt is on the disk, also if the error and all states are the same as
// before. Otherwise the next process would count a crash.
func TestRetryThatFailsAgain(t *testing.T) {
	w := applied()
	w.step(machine.Touched{})
	for range 6 {
		w.endRun(failing(machine.CheckFailed))
		if a := w.durable().Attempts; a.Open || a.Count == 0 {
			t.Errorf("after a failure: %+v", a)
		}
		w.untilRun(t)
	}
}

// TestTextsOfRuns: the report of a run counts modules that took part at an earlier version.
func TestTextsOfRuns(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=2", "modules/b=2"))
	for range 3 {
		w.untilRun(t)
		w.endRun(machine.Outcome{Result: machine.RolledBack, Run: 2, Undo: true, Error: "x",
			Parts: map[string]machine.Part{"modules/b": {Error: "boom"}}})
	}
	w.did = nil
	w.endRun(machine.Outcome{Result: machine.Done, Run: 3})
	if text := w.of(fleet.Applied); !strings.HasSuffix(text, "without one of its modules") {
		t.Errorf("%q", text)
	}
}

// TestJitterOfRetries: retries at the same interval begin at different times, so agents that failed together do
// not stay together.
func TestJitterOfRetries(t *testing.T) {
	w := applied()
	w.step(machine.Touched{})
	var waits []time.Duration
	for range 12 {
		w.endRun(failing(machine.CheckFailed))
		waits = append(waits, w.untilRun(t))
	}
	last := waits[8:]
	slices.Sort(last)
	if len(slices.Compact(last)) < 3 {
		t.Errorf("the last retries begin after %s", last)
	}
}

// TestBinaryIsConfirmedOnce: an agent confirms its binary once in each process, however many reports a hub
// acknowledges.
func TestBinaryIsConfirmedOnce(t *testing.T) {
	w := upgrading(machine.Binary{})
	w.up = true
	w.step(machine.Link{Up: true})
	for i := range uint64(3) {
		w.offer(assignment(i+1, "modules/a=1"))
		for w.send != 0 {
			w.deliver()
		}
	}
	if len(w.heard) < 3 {
		t.Fatalf("%d reports", len(w.heard))
	}
	want(t, "confirmed", w.replacing(), "settle")
}

// TestStatusBeforeTheFirstEvent: a module without a stored state is pending, also before the agent handles an event.
func TestStatusBeforeTheFirstEvent(t *testing.T) {
	w, a := newWorld(), assignment(1, "modules/a=1", "modules/b=1")
	w.m = machine.New(w.cfg, machine.StoredState{Accepted: &a, Applied: &a,
		Modules: map[string]machine.Module{"modules/b": {State: fleet.ModuleReady}}}, 0, 0)
	want(t, "states", w.states(), "a pending; b ready")
}
