package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

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
