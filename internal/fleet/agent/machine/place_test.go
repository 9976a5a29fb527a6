package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// Hubs get a report when a guest starts or stops, and each report contains the guests.
func TestGuestsAreReported(t *testing.T) {
	w := applied()
	running := &fleet.Place{Guests: []fleet.Guest{{Name: "web", State: fleet.GuestRunning}}}
	same := &fleet.Place{Guests: []fleet.Guest{{Name: "web", State: fleet.GuestRunning}}}
	stopped := &fleet.Place{Guests: []fleet.Guest{{Name: "web", State: fleet.GuestStopped}}}
	for _, c := range []struct {
		place *fleet.Place
		text  string
	}{
		{running, "the guests of the host are unknown, or known again"}, {same, ""},
		{stopped, "guests: web is stopped"}, {stopped, ""},
	} {
		w.did, w.now.Place = nil, c.place
		w.elapse(time.Second)
		text, has := "", c.place
		for _, a := range w.did {
			if a, ok := a.(machine.Append); ok {
				text, has = a.Report.Event.Text, a.Report.Status.Place
			}
		}
		if text != c.text || !has.Equal(c.place) {
			t.Errorf("%q with %+v, want %q", text, has, c.text)
		}
	}
}
