package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// applied returns a world in which modules/a is applied and ready.
func applied() *world {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	return w
}

// TestJobAfterALock: a job that found the host locked begins again after 20 seconds, and the agent asks to
// be woken then.
func TestJobAfterALock(t *testing.T) {
	w := applied()
	w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobRun, By: "ada",
		Run: &fleet.Command{Argv: []string{"true"}}}})
	if w.act == nil {
		t.Fatal("the job does not begin")
	}
	w.endAct(true)
	if w.act != nil || w.wake != 20*time.Second {
		t.Errorf("after the lock: begun %t, woken in %s", w.act != nil, w.wake)
	}
	w.elapse(w.wake)
	if w.act == nil {
		t.Error("the job does not begin again")
	}
}

// TestWakeForARetry: a composition that failed is tried again when the agent asked to be woken. Each retry
// is an attempt.
func TestWakeForARetry(t *testing.T) {
	w := applied()
	w.step(machine.Touched{})
	w.endRun(failing(machine.CheckFailed))
	last := w.durable().Attempts.Count
	for range 3 {
		if w.run != nil || w.wake > 30*time.Minute {
			t.Fatalf("%s, woken in %s", inRun(w), w.wake)
		}
		w.elapse(w.wake)
		want(t, "when it is woken", inRun(w), "retry a")
		w.endRun(failing(machine.CheckFailed))
		if n := w.durable().Attempts.Count; n != last+1 {
			t.Errorf("%d attempts after %d", n, last)
		}
		last++
	}
}

// TestWakeOfAFrozenHost: a host that is frozen during a run asks after 30 seconds whether it still is.
func TestWakeOfAFrozenHost(t *testing.T) {
	w := applied()
	w.elapse(10 * time.Minute)
	w.endRun(machine.Outcome{Result: machine.Done})
	w.step(machine.Touched{})
	w.thaws()
	w.endRun(machine.Outcome{Result: machine.Frozen, Error: "by ada: lunch"})
	w.endRun(machine.Outcome{Result: machine.Looked})
	if n := w.thaws(); n != 0 || w.wake != 30*time.Second {
		t.Errorf("asked %d times at once, woken in %s", n, w.wake)
	}
}

// TestFullCheckOfAFrozenTarget: a frozen target is compared with its whole contents when that is due, also
// before the next check by metadata.
func TestFullCheckOfAFrozenTarget(t *testing.T) {
	w := newWorld()
	w.cfg.Sweep, w.cfg.Full = 3*time.Hour, time.Hour
	w.start()
	a := assignment(1, "modules/a=1")
	w.offer(a)
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	a.Generation, a.Frozen = 2, "an audit"
	w.offer(a)
	if w.run != nil {
		t.Fatalf("at once: %s", inRun(w))
	}
	for begin := w.now.Mono; w.run == nil && w.now.Mono < begin+2*time.Hour; {
		w.elapse(max(w.wake, time.Second))
	}
	if w.run == nil || !w.run.Look || !w.run.Full {
		t.Errorf("within two hours: %s", inRun(w))
	}
}

// TestCheckWithoutARepair: while a composition fails, a run that found nothing to repair is not reported.
func TestCheckWithoutARepair(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(failing(machine.CheckFailed))
	w.step(machine.Touched{})
	if w.run == nil || w.run.Checks {
		t.Fatalf("noticed: %s", inRun(w))
	}
	w.did = nil
	w.endRun(machine.Outcome{Result: machine.Done, Run: 3})
	want(t, "reports", w.kinds(), "")
}

// TestPacesOfExports: each change soon after the previous one waits twice as long. After a calm time, a
// change waits two seconds again.
func TestPacesOfExports(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/web=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Exports: own("0")})
	w.step(machine.Link{Up: true})
	w.elapse(2 * time.Second)
	want(t, "the first value", published(w), `"0"`)
	for i, c := range []struct{ calm, steady time.Duration }{
		{time.Hour, 2 * time.Second}, {0, 4 * time.Second}, {0, 8 * time.Second}, {time.Hour, 2 * time.Second},
		{8 * time.Second, 4 * time.Second}, {17 * time.Second, 2 * time.Second},
	} {
		w.elapse(c.calm)
		w.endRun(machine.Outcome{Result: machine.Done, Exports: w.durable().Exports})
		w.did = nil
		value := string(rune('a' + i))
		runs(w, own(value))
		w.elapse(c.steady - time.Millisecond)
		want(t, value+" before its time", published(w), "")
		w.elapse(time.Millisecond)
		want(t, value+" at its time", published(w), `"`+value+`"`)
	}
}
