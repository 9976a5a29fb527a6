package push_test

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/window"
)

// windowed is a site with windows of two hours from 02:00 in a zone. It begins at a time on 27 November 2026.
func windowed(n int, zone, begin string) *site {
	x := newSite(n, rollout.Careful())
	x.order.Windows = map[string][]window.Window{}
	for name, h := range x.hosts {
		x.order.Windows[name] = []window.Window{{Name: "nights", Schedule: "0 2 * * *", Seconds: 7200, Zone: zone}}
		h.zone = "UTC"
	}
	at, err := time.Parse(time.RFC3339, "2026-11-27T"+begin+"Z")
	if err != nil {
		panic(err)
	}
	x.now = at.Unix()
	x.boot()
	return x
}

// No rollout begins while the windows of all targets are closed.
func TestAllWindowsClosed(t *testing.T) {
	x := windowed(3, "UTC", "01:00:00")
	x.play()
	want := `web01: outside the window "nights", which opens at 2026-11-27 02:00 UTC`
	if x.machine.Rollout() != nil || x.tasks(push.Apply) != 0 || x.machine.AllClosed() != want {
		t.Errorf("%s, %d were changed: %s", x.phase(), x.tasks(push.Apply), x.machine.AllClosed())
	}
	x = windowed(3, window.TargetZone, "12:00:00")
	x.hosts["web02"].zone, x.hosts["web03"].zone = "America/New_York", ""
	x.play()
	want = `web01: outside the window "nights", which opens at 2026-11-28 02:00 UTC`
	if got := x.machine.AllClosed(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	x.hosts["web01"].zone = "America/Los_Angeles"
	x.boot()
	x.play()
	want = `web02: outside the window "nights", which opens at 2026-11-28 02:00 EST`
	if got := x.machine.AllClosed(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	x = windowed(3, "UTC", "02:00:00")
	x.play()
	if x.phase() != rollout.Completed || x.count("new") != 3 {
		t.Errorf("inside: %s, %d have the content", x.phase(), x.count("new"))
	}
}

// The rollout waits for targets in other zones, and does not count them as failed.
func TestWindowsInOtherZones(t *testing.T) {
	x := windowed(6, window.TargetZone, "02:30:00")
	x.hosts["web05"].zone, x.hosts["web06"].zone = "America/New_York", "America/New_York"
	opens := x.now + 4*3600 + 1800 // 02:00 in New York
	for x.step(nil) && x.now < opens-1 {
		if x.hosts["web05"].has() == "new" || x.hosts["web06"].has() == "new" {
			t.Fatalf("a target is changed %d s before its window", opens-x.now)
		}
	}
	if x.phase() != rollout.Active || x.count("new") != 4 {
		t.Errorf("before the window: %s, %d have the content", x.phase(), x.count("new"))
	}
	x.play()
	if x.phase() != rollout.Completed || x.count("new") != 6 {
		t.Errorf("%s, %d have the content", x.phase(), x.count("new"))
	}
}

// A target returns outside of its windows. Its first content does not wait for them.
func TestChangesOutsideOfWindows(t *testing.T) {
	x := windowed(3, "UTC", "03:59:50")
	for _, h := range x.hosts {
		h.breaks, h.sickness = true, 30
	}
	x.play()
	if x.phase() != rollout.RolledBack || x.count("old") != 3 {
		t.Errorf("%s, %d have the previous content", x.phase(), x.count("old"))
	}
	x = windowed(1, "UTC", "12:00:00")
	x.hosts["web01"].run, x.hosts["web01"].content = 0, map[int]string{}
	x.play()
	if x.phase() != rollout.Completed || x.count("new") != 1 {
		t.Errorf("the first content: %s", x.phase())
	}
}

// The windows of a target whose zone is unknown are closed.
func TestUnknownZone(t *testing.T) {
	x := windowed(2, window.TargetZone, "02:30:00")
	x.hosts["web01"].zone, x.hosts["web02"].zone = "", ""
	x.play()
	if x.tasks(push.Apply) != 0 || !strings.Contains(x.machine.AllClosed(), "which is not known") {
		t.Errorf("%d were changed: %s", x.tasks(push.Apply), x.machine.AllClosed())
	}
}
