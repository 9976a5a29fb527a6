package machine_test

import (
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/window"
)

// hourly opens for ten minutes at the begin of each hour.
func hourly() []window.Window {
	return []window.Window{{Name: "hourly", Schedule: "0 * * * *", Seconds: 600, Zone: "UTC"}}
}

// isClosed reports whether hourly is closed.
func isClosed(wall int64) bool { return wall/int64(time.Second)%3600 >= 600 }

// windowed returns an assignment with windows.
func windowed(generation uint64, modules ...string) fleet.Assignment {
	a := assignment(generation, modules...)
	a.Windows = hourly()
	return a
}

// checkWindow: a run outside of the windows leaves the applied composition as it is.
func (w *world) checkWindow(r machine.Run) {
	a, has := w.m.Accepted, w.m.Applied
	if a == nil || has == nil || len(a.Windows) == 0 || !isClosed(w.now.Wall) || r.Look {
		return
	}
	same := func(x, y fleet.Assigned) bool { return x.Bundle == y.Bundle }
	if !slices.EqualFunc(r.Want.Modules, has.Modules, same) && !slices.EqualFunc(a.Modules, has.Modules, same) {
		w.fault("outside of the window it runs %v instead of %v", r.Want.Modules, has.Modules)
	}
}

// A change waits for its window, and begins as soon as the window opens. Repairs do not wait.
func TestWindow(t *testing.T) {
	w := applied()
	w.now.Wall = int64(1_700_000_000/3600*3600+1800) * int64(time.Second)
	w.elapse(time.Second)
	w.endRun(machine.Outcome{Result: machine.Done, Checked: true})
	w.did = nil
	w.offer(windowed(2, "modules/web=2"))
	want(t, "outside", inRun(w), "no run")
	want(t, "outside", w.states(), `web deferred (outside the window "hourly", which opens at 2023-11-14 23:00 UTC)`)
	w.step(machine.Touched{})
	want(t, "repair", inRun(w), "noticed a")
	w.endRun(machine.Outcome{Result: machine.Done})
	for range 100 {
		if w.run != nil {
			break
		}
		w.elapse(w.wake)
	}
	want(t, "inside", inRun(w), "assigned web")
	if s := w.now.Wall / int64(time.Second) % 3600; s != 0 {
		t.Errorf("it begins %d s after the window opens", s)
	}
}

// The first assignment of a host, and an assignment without windows, begin at any time.
func TestNoWindow(t *testing.T) {
	w := newWorld()
	w.now.Wall = int64(1_700_000_000/3600*3600+1800) * int64(time.Second)
	w.offer(windowed(1, "modules/web=1"))
	want(t, "first", inRun(w), "assigned web")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Changes: 1, Checked: true})
	w.offer(assignment(2, "modules/web=2"))
	want(t, "a return", inRun(w), "assigned web")
}
