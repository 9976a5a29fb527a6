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

// A window with the zone of the target opens by the zone of the host. A change of the zone counts at once, and hubs get
// a report. While the zone is unknown, the window is closed.
func TestWindowWithZoneOfHost(t *testing.T) {
	w := applied()
	w.now.Wall = int64(1_700_000_000/86400*86400+7800) * int64(time.Second) // 02:10 UTC
	w.now.Zone = "America/New_York"
	w.elapse(time.Second)
	w.endRun(machine.Outcome{Result: machine.Done, Checked: true})
	a := assignment(2, "modules/web=2")
	a.Windows = []window.Window{{Name: "nights", Schedule: "0 2 * * *", Seconds: 3600, Zone: window.TargetZone}}
	w.offer(a)
	want(t, "outside", inRun(w), "no run")
	want(t, "outside", w.states(), `web deferred (outside the window "nights", which opens at 2023-11-14 02:00 EST)`)
	w.did, w.now.Zone = nil, ""
	w.elapse(time.Second)
	want(t, "unknown", inRun(w), "no run")
	want(t, "unknown", w.states(),
		`web deferred (cannot use the window "nights": it has the time zone of the target, which is not known)`)
	want(t, "unknown", reported(w), "the time zone of the host is unknown in ")
	w.did, w.now.Zone = nil, "Europe/London"
	w.elapse(time.Second)
	want(t, "inside", inRun(w), "assigned web")
	want(t, "inside", reported(w), "the time zone of the host is Europe/London in Europe/London")
}

// reported returns the text and the zone of the newest report of a step.
func reported(w *world) string {
	for _, a := range w.did {
		if a, ok := a.(machine.Append); ok {
			return a.Report.Event.Text + " in " + a.Report.Status.Zone
		}
	}
	return ""
}
