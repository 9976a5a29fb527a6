package assign_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/window"
)

// localNights opens at 02:00 of each target. The computations of planned are at 1970-01-01 00:01:40 UTC.
func localNights(p *planned, letter string) {
	list := []window.Window{{Name: "nights", Schedule: "0 2 * * *", Seconds: 3600, Zone: window.TargetZone}}
	for name, c := range p.revisions[strings.Repeat(letter, 40)].Targets {
		c.Windows = list
		p.revisions[strings.Repeat(letter, 40)].Targets[name] = c
	}
}

// A window with the zone of the target opens by the wall clock of each target. If the zone is unknown, it is closed,
// and an older agent can read the assignment.
func TestWindowsWithZoneOfTarget(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	localNights(p, "a")
	if got, _ := p.compute(nil); got["web1"] != "a" || got["web2"] != "a" {
		t.Fatalf("the first assignments: %v", got)
	}
	for id, a := range p.state.Input(0, nil).Previous {
		if a.Windows[0].Zone != "UTC" {
			t.Errorf("%s has not reported a zone, and gets a window in %s", id, a.Windows[0].Zone)
		}
	}
	p.commit(2, "b")
	localNights(p, "b")
	// At 01:10 UTC, it is 02:10 in London, which had summer time all year, and 20:10 in New York.
	in := p.state.Input(4200, p.revisions)
	in.Zones = map[fleet.TargetID]string{idOf("web1"): "Europe/London", idOf("web2"): "America/New_York"}
	out := assign.Compute(in)
	if len(out.Assignments) != 1 || out.Assignments[0].Name != "web1" ||
		out.Assignments[0].Windows[0].Zone != window.TargetZone || out.Next != 7200 {
		t.Errorf("%+v, again at %d", out.Assignments, out.Next)
	}
	for name, want := range map[string]string{
		"web2": `outside the window "nights", which opens at 1970-01-01 02:00 EST`,
		"web3": `the window "nights": it has the time zone of the target, which is not known`,
	} {
		if why := strings.Join(out.Why(idOf(name), "modules/web"), "\n"); !strings.Contains(why, want) {
			t.Errorf("%s: %s", name, why)
		}
	}
}
