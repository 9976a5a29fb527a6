package notices

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// TestAlarmsOfOrganizations: an organization sees alarms that contain only data of its targets, and no others. With
// grants, a user sees none.
func TestAlarmsOfOrganizations(t *testing.T) {
	all := []assign.Alarm{{Kind: assign.Cloned, Text: "1", OfTargets: true, Organization: "acme"},
		{Kind: assign.Cloned, Text: "2", OfTargets: true, Organization: "acme2"},
		{Kind: assign.Cloned, Text: "3", OfTargets: true, Organization: "acme/search"},
		{Kind: assign.Cloned, Text: "4", OfTargets: true},
		{Kind: assign.MassRemoval, Text: "5", Organization: "acme"}, {Kind: assign.Redundancy, Text: "6"}}
	for _, c := range []struct {
		b    fleet.Boundary
		want string
	}{{fleet.Boundary{}, "123456"}, {fleet.Boundary{Organization: "acme"}, "13"},
		{fleet.Boundary{Organization: "acme/search"}, "3"}, {fleet.Boundary{Organization: "globex"}, ""},
		{fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{{Organization: "acme"}}}, ""}} {
		got := ""
		for _, a := range alarmsWithin(all, c.b) {
			got += a.Text
		}
		if got != c.want {
			t.Errorf("%+v has %s, want %s", c.b, got, c.want)
		}
	}
	if len(all) != 6 || all[3].Text != "4" {
		t.Error("the alarms of the hub were changed")
	}
}
