package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestValuesThatGoWhileTheyAreTold: if the last value disappears while it is sent to a hub, the hub
// gets an update.
func TestValuesThatGoWhileTheyAreTold(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/web=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Exports: own("a")})
	w.step(machine.Link{Up: true})
	var told *machine.Publish
	for _, a := range w.did {
		if p, ok := a.(machine.Publish); ok {
			told = &p
		}
	}
	if told == nil {
		t.Fatal("the value is not told")
	}
	w.did = nil
	runs(w, nil)
	w.step(machine.Published{Exports: told.Exports})
	w.elapse(time.Minute)
	want(t, "then", published(w), "nothing")
}

// TestWhichModulesAreBad: a module is bad if its applied bundle failed: the new bundle after a
// failed run, but not after an undone run.
func TestWhichModulesAreBad(t *testing.T) {
	for result, bad := range map[machine.Result]bool{machine.Failed: true, machine.CheckFailed: true,
		machine.RolledBack: false, machine.Broken: false} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1", "modules/b=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		w.offer(assignment(2, "modules/a=2", "modules/b=1"))
		w.endRun(machine.Outcome{Result: result, Run: 2, Error: "x",
			Parts: map[string]machine.Part{"modules/a": {Error: "boom"}}})
		if m := w.durable().Modules; m["modules/a"].Inconsistent != bad || m["modules/b"].Inconsistent {
			t.Errorf("%s: %+v", result, m)
		}
	}
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.RolledBack, Run: 2, Error: "x",
		Parts: map[string]machine.Part{"modules/a": {Error: "boom"}}})
	if !w.durable().Modules["modules/a"].Inconsistent {
		t.Error("a module that stands and failed is not bad")
	}
}

// TestALinkHurries: operations that failed without a hub are tried again as soon as the agent
// connects.
func TestALinkHurries(t *testing.T) {
	w := newWorld()
	w.step(machine.Offered{Assignment: assignment(1, "modules/a=1")})
	for range 9 {
		w.endFetch("no hub answers", false)
		for w.fetch == nil {
			w.elapse(w.wake)
		}
	}
	w.endFetch("no hub answers", false)
	w.elapse(time.Second)
	if w.fetch != nil {
		t.Fatal("it is tried again at once")
	}
	w.step(machine.Link{Up: true})
	if w.fetch == nil {
		t.Error("a hub is there, and nothing is fetched")
	}
}

// TestALookIsNoTry: a run that only observes a frozen host does not complete an order of a user,
// and does not change the number of failures.
func TestALookIsNoTry(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	for range 2 {
		w.endRun(machine.Outcome{Result: machine.Failed, Run: 1, Error: "x",
			Parts: map[string]machine.Part{"modules/a": {Error: "boom"}}})
		w.elapse(5 * time.Minute)
	}
	w.endRun(machine.Outcome{Result: machine.Failed, Run: 1, Error: "x",
		Parts: map[string]machine.Part{"modules/a": {Error: "boom"}}})
	tries := w.durable().Attempts.Count
	w.step(machine.LocalFreeze{Why: "ada"})
	w.step(machine.JobReceived{Job: fleet.Job{ID: "1", What: fleet.JobApply, By: "ada"}})
	w.elapse(time.Hour)
	if w.run == nil || !w.run.Look {
		t.Fatalf("a frozen machine is not looked at: %s", inRun(w))
	}
	w.endRun(machine.Outcome{Result: machine.Looked})
	if k := w.durable(); k.Attempts.Count != tries || tries != 3 || k.ApplyOrderedBy != "ada" {
		t.Errorf("%d tries before, then %+v, asked by %q", tries, k.Attempts, k.ApplyOrderedBy)
	}
}

// TestTheRunOfTheStatus: the status names the newest run of the history; an unrecorded run does not
// change it.
func TestTheRunOfTheStatus(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 5, Changes: 1})
	for _, c := range []struct{ run, want int }{{0, 5}, {6, 6}, {0, 6}} {
		w.step(machine.Touched{})
		w.endRun(machine.Outcome{Result: machine.Done, Run: c.run})
		if got := w.m.Status().Run; got != c.want {
			t.Errorf("after run %d the status names %d, want %d", c.run, got, c.want)
		}
	}
}

// TestNothingBeginsAtTheEnd: a process that is about to end starts no job.
func TestNothingBeginsAtTheEnd(t *testing.T) {
	w := newWorld()
	w.m.End()
	if w.step(job("j", false)); w.act != nil || len(w.durable().AcceptedJobs) != 1 {
		t.Errorf("a job is taken %d times, begun: %t", len(w.durable().AcceptedJobs), w.act != nil)
	}
}
