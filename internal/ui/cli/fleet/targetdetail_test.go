package fleet

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// A target shows its supervisor, and its guests with their targets.
func TestGuestsOfTarget(t *testing.T) {
	d := document.TargetDetail{Target: document.Target{Name: "vm1"}, MoreGuests: 2,
		Supervisor: &document.Supervisor{Name: "rack1", State: document.Ready, Guest: "vm1", GuestState: fleet.GuestRunning},
		Guests: []document.Guest{
			{Name: "web1", State: fleet.GuestRunning, Target: &document.GuestTarget{Name: "web1.example.org",
				State: document.Ready}},
			{Name: "old", State: fleet.GuestStopped}, {Name: "copy", State: fleet.GuestUnknown, Conflict: true}}}
	var out bytes.Buffer
	showTarget(&cli.Printer{App: &cli.App{Stdout: &out, Now: time.Now}}, d)
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"supervisor rack1, ready; its guest vm1 is running",
		"GUEST STATE TARGET STATE OF TARGET web1 running web1.example.org ready old stopped -",
		"copy unknown - several reports have its machine ID 2 more guests are not reported."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}
