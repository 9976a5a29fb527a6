package window_test

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/window"
)

// A window with the zone of the target opens by the wall clock of each target, also on the days on which clocks change.
func TestZoneOfTarget(t *testing.T) {
	for _, c := range []struct{ zone, now, open, until string }{
		{"Europe/Berlin", "2026-11-27T13:00:00Z", "2026-11-28T01:00:00Z", "2026-11-28T05:00:00Z"},
		{"America/Los_Angeles", "2026-11-27T15:00:00Z", "2026-11-28T10:00:00Z", "2026-11-28T14:00:00Z"},
		{"Asia/Kolkata", "2026-11-27T13:00:00Z", "2026-11-27T20:30:00Z", "2026-11-28T00:30:00Z"},
		// The clocks of Berlin change on 29 March and 25 October, and those of Los Angeles on 8 March and 1 November.
		{"Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T05:00:00Z"},
		{"America/Los_Angeles", "2026-03-28T14:00:00Z", "2026-03-29T09:00:00Z", "2026-03-29T13:00:00Z"},
		{"America/Los_Angeles", "2026-03-07T20:00:00Z", "2026-03-08T10:00:00Z", "2026-03-08T14:00:00Z"},
		{"Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T04:00:00Z"},
		{"America/Los_Angeles", "2026-10-31T20:00:00Z", "2026-11-01T10:00:00Z", "2026-11-01T14:00:00Z"},
	} {
		set, err := window.Compile([]window.Window{nights(window.TargetZone)}, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		closed := set.At(at(c.now))
		if got := closed.Until.UTC().Format(time.RFC3339); closed.Open || got != c.open {
			t.Errorf("%s at %s: open: %v, opens at %s, want %s", c.zone, c.now, closed.Open, got, c.open)
		}
		open := set.At(closed.Until)
		if got := open.Until.UTC().Format(time.RFC3339); !open.Open || got != c.until {
			t.Errorf("%s at %s: open: %v, closes at %s, want %s", c.zone, c.open, open.Open, got, c.until)
		}
	}
}

// A zone that is not known or that does not exist is an error, unless no window needs it.
func TestUnknownZoneOfTarget(t *testing.T) {
	local := []window.Window{nights("UTC"), nights(window.TargetZone)}
	for _, zone := range []string{"", "Local", "target", "Mars/Olympus", "../../etc/passwd"} {
		if _, err := window.Compile(local, zone); err == nil || !strings.Contains(err.Error(), `the window "nights"`) {
			t.Errorf("%q: %v", zone, err)
		}
		if _, err := window.Compile(local[:1], zone); err != nil {
			t.Errorf("%q: %v", zone, err)
		}
	}
	if err := window.Check(local); err != nil {
		t.Error(err)
	}
	if !window.IsLocal(local) || window.IsLocal(local[:1]) {
		t.Error("a wrong window is local")
	}
}
