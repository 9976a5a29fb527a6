package rollouts

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/window"
)

const hour = 3600

// TestOpenFor: only the time in which the windows of a target are open counts. In January, 8 o'clock in Berlin is
// 7 o'clock UTC.
func TestOpenFor(t *testing.T) {
	daily := func(zone string) []window.Window {
		return []window.Window{{Name: "morning", Schedule: "0 8 * * *", Seconds: hour, Zone: zone}}
	}
	local := daily(window.TargetZone) // targets share the list
	windows := map[fleet.TargetID][]window.Window{"always": nil, "utc": daily("UTC"), "berlin": local, "kolkata": local,
		"lost": daily(window.TargetZone), "moved": daily("UTC"), "broken": {{Name: "x", Schedule: "?", Seconds: hour}}}
	f := Fleet{Observed: &Observed{}, Targets: map[fleet.TargetID]document.Target{"berlin": {Zone: "Europe/Berlin"},
		"kolkata": {Zone: "Asia/Kolkata"}, "moved": {Zone: "Europe/Berlin"}}}
	all := []assign.Desired{{Target: fleet.Target{ID: "pinned"}}}
	if f.openFor(all) != nil || f.openFor(append(all, assign.Desired{Want: &fleet.Assignment{}})) != nil {
		t.Error("there are windows")
	}
	for id, list := range windows {
		all = append(all, assign.Desired{Target: fleet.Target{ID: id}, Want: &fleet.Assignment{Windows: list}})
	}
	open := f.world(all, rollout.NewState()).OpenFor
	for _, c := range []struct {
		id               fleet.TargetID
		from, to, enough int64 // hours
		want             int64
	}{
		{"always", 0, 24, 9, 24}, {"pinned", 2, 4, 9, 2},
		{"utc", 0, 24, 9, 1}, {"utc", 0, 24, 9, 1}, {"utc", 0, 48, 9, 2}, {"utc", 0, 96, 2, 2}, {"utc", 9, 24, 9, 0},
		{"utc", 24, 48, 9, 1},
		{"berlin", 7, 8, 9, 1}, {"berlin", 8, 9, 9, 0}, {"kolkata", 7, 8, 9, 0}, {"kolkata", 0, 24, 9, 1},
		{"moved", 7, 8, 9, 0}, {"moved", 8, 9, 9, 1},
		{"lost", 0, 48, 9, 0}, {"broken", 0, 48, 9, 0},
	} {
		if got := open(c.id, c.from*hour, c.to*hour, c.enough*hour); got != c.want*hour {
			t.Errorf("%s from %d to %d: %d s instead of %d h", c.id, c.from, c.to, got, c.want)
		}
	}
}
