package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestRunsThatNeverBegan: a run that could not begin, because of another process or the end of the
// agent, starts again for the same reason after 20 seconds. It does not count as an attempt.
func TestRunsThatNeverBegan(t *testing.T) {
	for what, c := range map[string]struct {
		begin func(w *world)
		again machine.Cause
	}{
		"assigned": {func(w *world) { w.offer(assignment(2, "modules/a=2")) }, machine.Assigned},
		"noticed":  {func(w *world) { w.step(machine.Touched{}) }, machine.Noticed},
		"sweep":    {func(w *world) { w.elapse(time.Hour) }, machine.Noticed},
		"start":    {func(w *world) { w.start(); w.fetchAll() }, machine.Start},
		"asked": {func(w *world) { w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobVerify}}) },
			machine.Ordered},
	} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		c.begin(w)
		for _, result := range []machine.Result{machine.Locked, machine.Stopped, machine.Locked} {
			if w.run == nil {
				t.Fatalf("%s: there is no run", what)
			}
			w.endRun(machine.Outcome{Result: result, Error: "another run"})
			if k := w.durable(); k.Attempts != (machine.Attempts{}) || k.Modules["modules/a"].State == fleet.ModuleApplying {
				t.Errorf("%s: %+v, %+v", what, k.Attempts, k.Modules)
			}
			if w.wake > 20*time.Second {
				t.Errorf("%s: it sleeps for %s", what, w.wake)
			}
			w.elapse(20*time.Second - 1)
			if w.run != nil {
				t.Errorf("%s: it begins too early", what)
			}
			w.elapse(1)
			if w.run == nil || w.run.Cause != c.again {
				t.Fatalf("%s: %s, want %s", what, inRun(w), c.again)
			}
		}
		w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
		if w.run != nil {
			t.Errorf("%s: a run after it succeeded: %s", what, inRun(w))
		}
		if len(w.wrong) > 0 {
			t.Error(what, w.wrong)
		}
	}
}

// TestAssignmentAfterAFailure: a failed run can have changed the host, so the next assignment
// causes a run even if its content is already applied. A failed compilation changes nothing, so it
// causes no run.
func TestAssignmentAfterAFailure(t *testing.T) {
	for result, ran := range map[machine.Result]bool{machine.Failed: true, machine.RolledBack: true,
		machine.Broken: false} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		w.offer(assignment(2, "modules/a=2"))
		w.endRun(machine.Outcome{Result: result, Run: 2, Error: "it failed"})
		if k := w.durable(); k.Error != "it failed" {
			t.Errorf("%s: the trouble is %q", result, k.Error)
		}
		w.offer(assignment(3, "modules/a=1"))
		if (w.run != nil) != ran || ran && (w.run.Cause != machine.Assigned || !w.run.Checks) {
			t.Fatalf("%s: %s", result, inRun(w))
		}
		w.endRun(machine.Outcome{Result: machine.Done, Run: 3})
		if k := w.durable(); w.run != nil || k.Error != "" || k.Attempts != (machine.Attempts{}) || w.states() != "a ready" {
			t.Errorf("%s: %s, %+v, %s", result, inRun(w), k, w.states())
		}
	}
}

// TestOneFailureIsReportedOnce: the same failure of a later run is not reported again; a different
// failure is.
func TestOneFailureIsReportedOnce(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	fails := func(run int, text string) {
		for range 100 {
			if w.run != nil {
				break
			}
			w.elapse(w.wake)
		}
		w.did = nil
		w.endRun(machine.Outcome{Result: machine.Failed, Run: run, Error: "x",
			Parts: map[string]machine.Part{"modules/a": {Error: text}, "modules/b": {Left: 1, Drift: 2}}})
	}
	fails(1, "boom")
	want(t, "the first", w.kinds(), "failed")
	if k := w.durable(); k.Attempts.Open || k.Attempts.Count != 1 || k.Error != "" ||
		k.Modules["modules/b"].Drift != 2 || k.Modules["modules/b"].WaitsFor != "the run ended before this module" ||
		k.Modules["modules/b"].State != fleet.ModulePending {
		t.Errorf("%q, %+v", k.Error, k.Modules)
	}
	fails(2, "boom")
	want(t, "the same", w.kinds(), "")
	fails(3, "bang")
	want(t, "another", w.kinds(), "failed")
}

// TestBrokenDrift: if the applied composition cannot be compiled, the agent tries again, and does
// not give up the assignment.
func TestBrokenDrift(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Broken, Error: "a lookup is missing"})
	for range 100 {
		if w.run != nil {
			break
		}
		w.elapse(w.wake)
	}
	if w.run == nil || w.run.Cause != machine.Retry {
		t.Fatalf("%s", inRun(w))
	}
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
	want(t, "then", w.states(), "a ready")
}

// TestEmptyAssignment: an assignment without modules whose check fails is applied, but not ready.
func TestEmptyAssignment(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1))
	w.endRun(machine.Outcome{Result: machine.CheckFailed, Run: 1, Error: "no"})
	if k := w.durable(); k.Applied == nil || k.Error != "no" || k.LastVerified != nil {
		t.Errorf("%+v", k)
	}
}

// TestFailureOfASupersededRun: a failure of an older assignment does not delay the newer one.
func TestFailureOfASupersededRun(t *testing.T) {
	for _, result := range []machine.Result{machine.Failed, machine.RolledBack, machine.CheckFailed, machine.Broken} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.offer(assignment(2, "modules/a=2"))
		w.endRun(machine.Outcome{Result: result, Run: 1, Error: "x",
			Parts: map[string]machine.Part{"modules/a": {Error: "boom"}}})
		if w.run == nil || w.run.Want.Generation != 2 {
			t.Errorf("%s: %s", result, inRun(w))
		}
	}
}

// TestAssignmentsThatComeAgain: a repeated assignment changes nothing, and an older one is refused.
func TestAssignmentsThatComeAgain(t *testing.T) {
	w := newWorld()
	w.offer(assignment(2, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.did = nil
	w.offer(assignment(2, "modules/a=1"))
	if w.run != nil || w.fetch != nil || w.kinds() != "" {
		t.Errorf("the same: %s, %q", inRun(w), w.kinds())
	}
	w.offer(assignment(1, "modules/a=0"))
	if k := w.durable(); w.run != nil || k.Accepted.Generation != 2 {
		t.Errorf("an older one: %s, %d", inRun(w), k.Accepted.Generation)
	}
	want(t, "the states", w.states(), "a ready")
}
