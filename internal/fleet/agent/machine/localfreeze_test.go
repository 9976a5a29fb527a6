package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// When a freeze ends by the wall clock, the agent checks it at once, but at most once in a second.
func TestFreezeWithAnEnd(t *testing.T) {
	for _, c := range []struct{ left, wake time.Duration }{
		{12 * time.Second, 12 * time.Second}, {time.Hour, 30 * time.Second}, {-time.Hour, time.Second}, {0, time.Second},
	} {
		w := applied()
		w.elapse(10 * time.Minute)
		w.endRun(machine.Outcome{Result: machine.Done})
		w.offer(assignment(2, "modules/web=2"))
		until := w.now.Wall + int64(c.left)
		w.endRun(machine.Outcome{Result: machine.Frozen, Error: "by ada: lunch", FrozenUntil: until})
		w.thaws()
		if w.wake != c.wake {
			t.Errorf("a freeze that ends in %s: woken in %s, want %s", c.left, w.wake, c.wake)
		}
		w.elapse(w.wake)
		if n := w.thaws(); n != 1 {
			t.Errorf("a freeze that ends in %s: checked %d times", c.left, n)
		}
		w.step(machine.LocalFreeze{})
		want(t, "run after the freeze", inRun(w), "assigned web")
	}
}

// A freeze is reported when it is observed. A change on the host makes the agent check whether the
// freeze is over.
func TestFreezeIsTold(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/web=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Changes: 1})
	w.did = nil
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Frozen, Error: "by ada: lunch"})
	want(t, "told", w.of(fleet.ReportRequested), "frozen by ada: lunch")
	w.did = nil
	w.elapse(time.Second)
	w.step(machine.Touched{})
	thaws := 0
	for _, a := range w.did {
		if _, ok := a.(machine.Thaw); ok {
			thaws++
		}
	}
	if thaws != 1 {
		t.Errorf("it is asked %d times whether the machine is frozen still", thaws)
	}
	w.step(machine.LocalFreeze{Why: "by ada: lunch"})
	w.step(machine.LocalFreeze{})
	want(t, "told", w.of(fleet.ReportRequested), "no longer frozen")
}
