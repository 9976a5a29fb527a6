package bus

import (
	"maps"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// TestHubLoads: the newest load of each hub counts, also if the hub started again. A report about one agent does not
// change it. A report without a load, for example of an older version, makes it unknown.
func TestHubLoads(t *testing.T) {
	r := &relay{where: map[fleet.TargetID]string{}, hubs: map[string]far{}}
	want := func(want map[string]fleet.HubLoad) {
		t.Helper()
		if got := r.loads(); !maps.Equal(got, want) {
			t.Errorf("loads %v, want %v", got, want)
		}
	}
	one, two := fleet.HubLoad{Connections: 1}, fleet.HubLoad{Connections: 2}
	want(map[string]fleet.HubLoad{})
	r.note(rollCall{Hub: "t1", Name: "hub2", Load: &one})
	r.note(rollCall{Hub: "t2", Name: "hub3"})
	want(map[string]fleet.HubLoad{"hub2": one})
	r.note(rollCall{Hub: "t1", Name: "hub2", ID: "a", Here: true})
	r.note(rollCall{Hub: "t1", Name: "hub2", ID: "a"})
	want(map[string]fleet.HubLoad{"hub2": one})
	r.note(rollCall{Hub: "t3", Name: "hub2", Load: &two})
	r.note(rollCall{Hub: "t2", Name: "hub3", Load: &one})
	want(map[string]fleet.HubLoad{"hub2": two, "hub3": one})
	r.note(rollCall{Hub: "t2", Name: "hub3"})
	want(map[string]fleet.HubLoad{"hub2": two})
	r.expire(time.Now().Add(2 * toldFor))
	want(map[string]fleet.HubLoad{})
	if loads := (&Exchange{}).HubLoads(); loads != nil {
		t.Error(loads)
	}
}
