package notices

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// An agent that a hub refuses because of its version causes an alarm at all hubs, until one of them
// accepts it. The agent tries again and again, and is recorded once.
func TestIncompatibleAgents(t *testing.T) {
	store, log, targets := bustest.NewStore(), bustest.NewLog(), bustest.NewStore()
	for i, of := range []fleet.Organization{"acme", "acme", ""} {
		text, err := json.Marshal(fleet.Target{ID: bustest.ID(i + 1), Organization: of})
		if err == nil {
			_, err = targets.Put(t.Context(), string(bustest.ID(i+1)), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	hubOf := func(name string) *Notifier {
		n := &Notifier{Config{Hub: name, Records: &records.Table{}, RetryQueue: &limits.RetryQueue{}, Context: t.Context,
			Warn: func(text string) { t.Error(text) }, Events: events.Recorder{Log: log, Now: time.Now}}}
		n.Records.Targets = records.NewMirror[fleet.Target](targets, "", nil)
		go func() { _ = n.Records.Targets.Follow(t.Context()) }()
		<-n.Records.Targets.Filled()
		n.Records.Incompatible = records.NewMirror[records.Incompatible](store, "protocol/", nil)
		go func() { _ = n.Records.Incompatible.Follow(t.Context()) }()
		<-n.Records.Incompatible.Filled()
		return n
	}
	a, b := hubOf("hub1"), hubOf("hub2")
	old := &bus.VersionError{Agent: bus.Versions{Oldest: 1, Newest: 1}, Hub: bus.Versions{Oldest: 2, Newest: 3}}
	for range 100 {
		a.Incompatible(bustest.ID(1), old)
		a.Incompatible(bustest.ID(2), old)
	}
	b.Incompatible(bustest.ID(3), &bus.VersionError{Agent: bus.Versions{Oldest: 9, Newest: 9},
		Hub: bus.Versions{Oldest: 2, Newest: 3}})
	for _, n := range []*Notifier{a, b} {
		bustest.Await(t, "the alarms", func() bool {
			all := n.incompatibleAlarms()
			return len(all) == 2 && all[0].Count+all[1].Count == 3
		})
		all := n.incompatibleAlarms()
		if one := all[0]; one.Kind != assign.Incompatible || one.Count != 2 || one.Organization != "acme" ||
			!strings.Contains(one.Text, "hub1") ||
			!strings.Contains(one.Text, "Upgrade the agent:") {
			t.Errorf("%+v", one)
		}
		if one := all[1]; one.Targets[0] != bustest.ID(3) || !strings.Contains(one.Text, "Upgrade the hub:") {
			t.Errorf("%+v", one)
		}
	}
	for _, id := range []int{1, 2, 3} {
		b.Compatible(bustest.ID(id))
		b.Compatible(bustest.ID(id))
	}
	for _, n := range []*Notifier{a, b} {
		bustest.Await(t, "no alarm", func() bool { return len(n.incompatibleAlarms()) == 0 })
	}
	events := 0
	for _, r := range log.Records() {
		if e, err := fleet.ParseHubEvent(r); err == nil && e.Kind == fleet.ProtocolViolated {
			events++
		}
	}
	if events != 3 {
		t.Errorf("%d events for three agents", events)
	}
}
