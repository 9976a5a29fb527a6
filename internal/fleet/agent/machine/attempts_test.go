package machine_test

import (
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// failing is the outcome of a run in which modules/a fails.
func failing(result machine.Result) machine.Outcome {
	parts := map[string]machine.Part{"modules/a": {Error: "boom"}}
	return machine.Outcome{Result: result, Run: 2, Undo: true, Error: "x", Parts: parts}
}

// untilRun waits as the machine requests it, until a run begins, and returns the elapsed time.
func (w *world) untilRun(t *testing.T) time.Duration {
	t.Helper()
	begin := w.now.Mono
	for range 1000 {
		if w.run != nil {
			return w.now.Mono - begin
		}
		w.elapse(w.wake)
	}
	t.Fatal("no run begins")
	return 0
}

// TestGivenUpBundles: a bundle that was given up is not tried again in a newer assignment, also by an
// agent that gives up after one failure. Another bundle of the module is.
func TestGivenUpBundles(t *testing.T) {
	w := newWorld()
	w.cfg.Tries = 1
	w.start()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=2"))
	w.endRun(failing(machine.RolledBack))
	want(t, "after one failure", w.states(), "a failed error: boom")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 3})
	w.offer(assignment(3, "modules/a=2", "modules/b=1"))
	if w.run == nil || w.run.Want.Modules[0].Bundle != bundle("modules/a", "1") {
		t.Errorf("a newer assignment with the same bundle: %s", inRun(w))
	}
	w.endRun(machine.Outcome{Result: machine.Done, Run: 4})
	w.offer(assignment(4, "modules/a=3", "modules/b=1"))
	if w.run == nil || w.run.Want.Modules[0].Bundle != bundle("modules/a", "3") {
		t.Errorf("another bundle: %s", inRun(w))
	}
}

// TestNewerAssignmentOfAFailure: a newer assignment is tried at once, also if its content is the same
// as the content that failed.
func TestNewerAssignmentOfAFailure(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(failing(machine.Failed))
	if w.run != nil {
		t.Fatalf("the same assignment: %s", inRun(w))
	}
	w.offer(assignment(2, "modules/a=1"))
	want(t, "a newer one", inRun(w), "retry a")
}

// TestBrokenAssignmentIsTriedAgain: an assignment that cannot be compiled is compiled again after about
// half an hour, because its inputs can be different then.
func TestBrokenAssignmentIsTriedAgain(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=2"))
	w.endRun(machine.Outcome{Result: machine.Broken, Error: "no such lookup"})
	begin := w.now.Mono
	for w.untilRun(t); w.run.Want.Modules[0].Bundle != bundle("modules/a", "2"); w.untilRun(t) {
		if w.now.Mono-begin > time.Hour {
			t.Fatal("it is not compiled again")
		}
		w.endRun(machine.Outcome{Result: machine.Done})
	}
	if waited := w.now.Mono - begin; waited < 24*time.Minute {
		t.Errorf("it is compiled again after %s", waited)
	}
}

// TestOrdersAndFailures: an order to apply begins to count failures again; an order to verify is one
// more attempt.
func TestOrdersAndFailures(t *testing.T) {
	for what, tries := range map[string]int{fleet.JobApply: 1, fleet.JobVerify: 2} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(failing(machine.Failed))
		w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: what, By: "ada"}})
		if k := w.durable(); w.run == nil || k.Attempts.Count != tries {
			t.Errorf("%s: %s, attempt %d, want %d", what, inRun(w), k.Attempts.Count, tries)
		}
	}
}

// TestNothingAppliedAtFirst: if all modules of the first assignment fail, nothing counts as applied.
// After a failed run, the number of the applied composition does not change; after a failed check, it
// does.
func TestNothingAppliedAtFirst(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(failing(machine.Failed))
	if good := w.durable().Applied; good != nil {
		t.Errorf("applied: %+v", good)
	}
	for result, generation := range map[machine.Result]uint64{machine.Failed: 1, machine.CheckFailed: 2} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1", "modules/b=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		w.offer(assignment(2, "modules/a=2", "modules/b=2"))
		w.endRun(failing(result))
		if good := w.durable().Applied; good.Generation != generation {
			t.Errorf("%s: the applied composition is of generation %d, want %d", result, good.Generation, generation)
		}
	}
}

// TestRepairWhileItFails: a repair of noticed drift is reported while the checks of another module
// fail. The failure remains.
func TestRepairWhileItFails(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(failing(machine.CheckFailed))
	w.step(machine.Touched{})
	if w.run == nil || w.run.Checks {
		t.Fatalf("noticed: %s", inRun(w))
	}
	w.run, w.did = nil, nil
	w.step(machine.Ran{Outcome: machine.Outcome{Result: machine.Done, Run: 3, Changes: 1, Repaired: 1}})
	want(t, "reports", w.kinds(), "repaired")
	want(t, "states", w.states(), "a pending (the agent tries again) error: boom; b ready")
}

// TestProvedAssignment: an assignment that was adopted without checks is not proved.
func TestProvedAssignment(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=1"))
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Done})
	if p := w.durable().LastVerified; p == nil || p.Generation != 1 {
		t.Errorf("after a run without checks: %v", p)
	}
	w.elapse(time.Hour)
	w.endRun(machine.Outcome{Result: machine.Done})
	if p := w.durable().LastVerified; p == nil || p.Generation != 2 {
		t.Errorf("after the checks: %v", p)
	}
}

// TestReportsOfChanges: an ordered run reports its changes, and repaired drift as repaired.
func TestReportsOfChanges(t *testing.T) {
	for _, c := range []struct {
		changes, repaired int
		kinds             string
	}{{0, 0, ""}, {1, 0, "applied"}, {1, 1, "repaired"}} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobApply}})
		w.did = nil
		w.endRun(machine.Outcome{Result: machine.Done, Run: 2, Changes: c.changes, Repaired: c.repaired})
		want(t, "reports", w.kinds(), c.kinds)
	}
}

// TestDurationsOfRuns: the end of a run is reported with its duration. A repeated failure is not reported again because
// it took longer. A run that only looked, that was blocked or that was interrupted has no duration.
func TestDurationsOfRuns(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	boom := failing(machine.Failed)
	for _, d := range []time.Duration{3, 4} {
		boom.Run, boom.Duration = int(d), d
		w.endRun(boom)
		w.elapse(5 * time.Minute)
	}
	for _, never := range []machine.Result{machine.Stopped, machine.Locked} {
		w.endRun(machine.Outcome{Result: never, Run: 5, Duration: 5})
		w.elapse(time.Hour)
	}
	w.endRun(machine.Outcome{Result: machine.Done, Run: 6, Changes: 1, Duration: 6})
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Done, Run: 7, Changes: 1, Repaired: 1, Duration: 7})
	w.step(machine.LocalFreeze{Why: "ada"})
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Looked, Run: 8, Duration: 8})
	w.step(machine.LocalFreeze{})
	w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobApply}})
	w.endRun(machine.Outcome{Result: machine.Done, Run: 9, Changes: 1, Duration: -9}) // the clock was set back
	got := ""
	for _, a := range w.did {
		if ap, ok := a.(machine.Append); ok && (ap.Report.Event.Duration != 0 || ap.Report.Event.Run == 9) {
			got += fmt.Sprintf("%s %d %d; ", ap.Report.Event.Kind, ap.Report.Event.Run, ap.Report.Event.Duration)
		}
	}
	want(t, "durations", got, "failed 3 3; applied 6 6; repaired 7 7; applied 9 0; ")
}
