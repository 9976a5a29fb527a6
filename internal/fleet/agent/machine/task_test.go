package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// attempt returns a job for an attempt that expires after some seconds.
func attempt(seconds int64) fleet.Job {
	now := newWorld().now.Wall / int64(time.Second)
	return fleet.Job{ID: "t", What: fleet.JobTask, At: now, Task: &fleet.TaskAttempt{Scope: "cluster/a", Task: "import",
		Digest: "d", Fence: 3, Expires: now + seconds}}
}

func (w *world) stored(t *testing.T) machine.AcceptedJob {
	t.Helper()
	if list := w.durable().AcceptedJobs; len(list) == 1 {
		return list[0]
	}
	t.Fatalf("%+v", w.durable().AcceptedJobs)
	return machine.AcceptedJob{}
}

// TestTaskIsAcceptedOnce: an attempt begins once, also if the job is repeated, and its start is durable.
func TestTaskIsAcceptedOnce(t *testing.T) {
	w := newWorld()
	w.step(machine.JobReceived{Job: attempt(60)})
	if !w.answer(t, "t").Accepted || w.act == nil || w.act.Job.Task.Fence != 3 || !w.stored(t).Begun {
		t.Fatalf("%+v", w.stored(t))
	}
	w.did = nil
	w.step(machine.JobReceived{Job: attempt(60)})
	if !w.answer(t, "t").Accepted {
		t.Error("the repeated job is not acknowledged")
	}
	w.endAct(false)
	w.up = true
	w.step(machine.Link{Up: true})
	if w.end == nil || w.end.Task != fleet.TaskFailed {
		t.Fatalf("%+v", w.end)
	}
	w.inform("")
	w.did = nil
	w.step(machine.JobReceived{Job: attempt(60)})
	if d := w.answer(t, "t"); d.Error == "" || d.Accepted || w.act != nil || len(w.wrong) > 0 {
		t.Errorf("%+v, %v", d, w.wrong)
	}
}

// TestInterruptedTask: an attempt that began before the agent ended does not begin again, and its result is unknown.
func TestInterruptedTask(t *testing.T) {
	w := newWorld()
	w.step(machine.JobReceived{Job: attempt(60)})
	w.start()
	if d := w.stored(t).Answer; w.act != nil || d == nil || !d.Interrupted || d.Task != "" {
		t.Errorf("%+v", d)
	}
}

// TestExpiredTask: an attempt that waits is refused when it expires. It waits for a run, and for the lock of the host.
func TestExpiredTask(t *testing.T) {
	refused := func(w *world, what string) {
		t.Helper()
		if d := w.stored(t).Answer; d == nil || d.Task != fleet.TaskRefused || d.Error == "" || w.act != nil {
			t.Errorf("%s: %+v", what, d)
		}
	}
	w := newWorld()
	w.step(machine.JobReceived{Job: attempt(0)})
	refused(w, "at once")

	w = newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.step(machine.JobReceived{Job: attempt(60)})
	if w.act != nil || w.wake > time.Minute {
		t.Fatalf("it begins in the middle of a run, or wakes after %s", w.wake)
	}
	w.elapse(time.Minute)
	refused(w, "during a run")

	w = newWorld()
	w.step(machine.JobReceived{Job: attempt(30)})
	for range 2 {
		w.endAct(true)
		if w.act != nil || w.stored(t).Answer != nil {
			t.Fatalf("%+v", w.stored(t))
		}
		w.elapse(w.wake)
		if w.act == nil {
			break
		}
	}
	refused(w, "of a locked host")
}

// TestTaskOfSlowClock: on a host whose clock is behind, an attempt expires after the same time.
func TestTaskOfSlowClock(t *testing.T) {
	w := newWorld()
	w.now.Wall -= int64(time.Hour)
	w.offer(assignment(1, "modules/a=1"))
	w.step(machine.JobReceived{Job: attempt(60)})
	w.elapse(59 * time.Second)
	if w.stored(t).Answer != nil {
		t.Fatal("it expired before its time")
	}
	w.elapse(time.Second)
	if d := w.stored(t).Answer; d == nil || d.Task != fleet.TaskRefused {
		t.Errorf("%+v", d)
	}
}

// TestTaskOfFrozenTarget: a frozen target begins no attempt, but it verifies.
func TestTaskOfFrozenTarget(t *testing.T) {
	for _, only := range []bool{false, true} {
		w := newWorld()
		w.step(machine.LocalFreeze{Why: "by ada"})
		job := attempt(60)
		job.Task.VerifyOnly = only
		w.step(machine.JobReceived{Job: job})
		if d := w.stored(t).Answer; only != (w.act != nil) || only != (d == nil) || d != nil && d.Task != fleet.TaskRefused {
			t.Errorf("verify only %v: %+v", only, d)
		}
	}
}

// TestVerifyOnlyTask: an attempt that only verifies runs beside a run.
func TestVerifyOnlyTask(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	job := attempt(60)
	job.Task.VerifyOnly = true
	w.step(machine.JobReceived{Job: job})
	if w.act == nil || w.run == nil || len(w.wrong) > 0 {
		t.Errorf("%v, %v, %v", w.act, w.run, w.wrong)
	}
}
