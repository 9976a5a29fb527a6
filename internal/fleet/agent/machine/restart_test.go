package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestWaitingJobAfterARestart: a job that had not begun when the process ended runs in the next
// process. A job that had begun is reported as interrupted.
func TestWaitingJobAfterARestart(t *testing.T) {
	w := newWorld()
	w.step(job("first", false))
	w.step(job("second", false))
	w.start()
	jobs := w.durable().AcceptedJobs
	if len(jobs) != 2 || jobs[0].Answer == nil || !jobs[0].Answer.Interrupted || jobs[1].Answer != nil {
		t.Errorf("%+v", jobs)
	}
	if w.act == nil || w.act.Job.ID != "second" {
		t.Errorf("the waiting job does not begin: %+v", w.act)
	}
}

// TestAttemptWithoutModulesAfterARestart: the end of an unclear attempt is durable, also if no module
// takes part in it.
func TestAttemptWithoutModulesAfterARestart(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1))
	if !w.durable().Attempts.Open {
		t.Fatal("the attempt is not on the disk")
	}
	w.start()
	if try := w.durable().Attempts; try.Open || try.Count != 1 {
		t.Errorf("%+v", try)
	}
}

// TestAttemptsAfterAnOrder: an order to apply ends the count of failed attempts. This is durable when the run begins,
// also if the agent received the order before a restart, and if the run is not an attempt because the content of the
// newest assignment is missing.
func TestAttemptsAfterAnOrder(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Checked: true})
	w.offer(assignment(2, "modules/a=2"))
	w.endRun(failing(machine.Failed))
	w.step(machine.Offered{Assignment: assignment(3, "modules/a=3")})
	w.step(machine.LocalFreeze{Why: "ada"})
	w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobApply, By: "ada"}})
	if n := w.durable().Attempts.Count; w.run != nil || n != 1 {
		t.Fatalf("%d attempts, and the run %+v", n, w.run)
	}
	w.start()
	if w.run == nil || w.run.Cause != machine.Ordered {
		t.Fatalf("the run is %+v", w.run)
	}
	if got := w.durable().Attempts; got != (machine.Attempts{}) {
		t.Errorf("durable: %+v", got)
	}
}

// TestModulesThatAreNoLongerAssigned: the state of a module is stored only while it is assigned.
func TestModulesThatAreNoLongerAssigned(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=1"))
	if m := w.durable().Modules; len(m) != 1 || m["modules/a"].State != fleet.ModuleReady {
		t.Errorf("%+v", m)
	}
}

// TestRetainedDuringTheFirstRun: while the first run is in progress, the bundles of a newer assignment
// and of the run are retained.
func TestRetainedDuringTheFirstRun(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.offer(assignment(2, "modules/a=2"))
	if got := w.retained(); len(got) != 3 { // the root bundle is in both
		t.Errorf("%q", got)
	}
}

// TestRefusedContent: content that fails its verification is reported, once.
func TestRefusedContent(t *testing.T) {
	w := newWorld()
	w.step(machine.Offered{Assignment: assignment(1, "modules/a=1")})
	for range 2 {
		w.endFetch("the bundle has another digest", true)
		for w.fetch == nil {
			w.elapse(w.wake)
		}
	}
	want(t, "reports", w.of(fleet.Refused), "the bundle has another digest")
}

// TestCarriedValuesEnd: the values of the previous epoch are used for exactly ten minutes, if nothing
// else happens, and for ten minutes more after a restart.
func TestCarriedValuesEnd(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := newWorld()
		offer := func(epoch, generation uint64, values ...string) {
			a := assignment(generation, "modules/lb=1")
			a.Epoch, a.Exported = epoch, table(values...)
			w.offer(a)
		}
		offer(1, 1, "web1")
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		offer(2, 1)
		if restart {
			w.elapse(5 * time.Minute)
			w.start()
			w.fetchAll()
			w.endRun(machine.Outcome{Result: machine.Done})
		}
		if waited := w.untilRun(t); waited != 10*time.Minute || givenIn(w) != "assigned lb:" {
			t.Errorf("restart %t: after %s, %s", restart, waited, givenIn(w))
		}
	}
}

// TestValuesThatGoWithoutAHub: if the last value disappears while the agent is not connected, the next
// hub is informed.
func TestValuesThatGoWithoutAHub(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/web=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Exports: own("a")})
	w.step(machine.Link{Up: true})
	want(t, "a hub", published(w), `"a"`)
	w.step(machine.Link{})
	w.elapse(time.Minute)
	runs(w, nil)
	w.step(machine.Link{Up: true})
	want(t, "the next hub", published(w), "nothing")
}

// TestBinaryOfANewerAssignment: a binary that an unreadable, newer assignment requires takes
// precedence over the binary of the accepted assignment.
func TestBinaryOfANewerAssignment(t *testing.T) {
	w := upgrading(machine.Binary{})
	w.offer(binaryConfig(1, "2"))
	w.step(machine.Newer{Why: "unknown field", Binary: binaryConfig(2, "3").Binary})
	w.up = true
	w.step(machine.Link{Up: true})
	want(t, "the binary", w.replacing(), "prepare 3")
}

// TestReturnAfterARefusal: the content of an assignment is refused, and the next assignment has the applied content
// again. A run with checks shows at once that it is ready.
func TestReturnAfterARefusal(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Changes: 1})
	w.step(machine.Offered{Assignment: assignment(2, "modules/a=2")})
	w.endFetch("the bundle has another digest", true)
	want(t, "the refused module", w.states(), "a pending (its content)")
	w.offer(assignment(3, "modules/a=1"))
	if w.run == nil || !w.run.Checks {
		t.Fatalf("there is no run with checks: %+v", w.run)
	}
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
	if !w.readyNow(t) {
		t.Errorf("%s", w.states())
	}
}
