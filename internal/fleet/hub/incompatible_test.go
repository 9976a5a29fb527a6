package hub

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// An agent that a hub refuses because of its version causes an alarm at all hubs, until one of them
// accepts it. The agent tries again and again, and is recorded once.
func TestIncompatibleAgents(t *testing.T) {
	store, log := bustest.NewStore(), bustest.NewLog()
	hubOf := func(name string) *Hub {
		h := &Hub{ctx: t.Context(), conf: Config{Now: time.Now, Warn: func(text string) { t.Error(text) }}, log: log}
		h.set.Name = name
		h.incompatible = newMirror[incompatible](store, "protocol/", nil)
		go func() { _ = h.incompatible.follow(t.Context()) }()
		<-h.incompatible.filled()
		return h
	}
	a, b := hubOf("hub1"), hubOf("hub2")
	old := &bus.VersionError{Agent: bus.Versions{Oldest: 1, Newest: 1}, Hub: bus.Versions{Oldest: 2, Newest: 3}}
	for range 100 {
		a.onIncompatible(bustest.ID(1), old)
		a.onIncompatible(bustest.ID(2), old)
	}
	b.onIncompatible(bustest.ID(3), &bus.VersionError{Agent: bus.Versions{Oldest: 9, Newest: 9}, Hub: bus.Versions{Oldest: 2, Newest: 3}})
	for _, h := range []*Hub{a, b} {
		bustest.Await(t, "the alarms", func() bool {
			all := h.incompatibleAlarms()
			return len(all) == 2 && all[0].Count+all[1].Count == 3
		})
		all := h.incompatibleAlarms()
		if one := all[0]; one.Kind != assign.Incompatible || one.Count != 2 || !strings.Contains(one.Text, "hub1") || !strings.Contains(one.Text, "Upgrade the agent:") {
			t.Errorf("%+v", one)
		}
		if one := all[1]; one.Targets[0] != bustest.ID(3) || !strings.Contains(one.Text, "Upgrade the hub:") {
			t.Errorf("%+v", one)
		}
	}
	for _, n := range []int{1, 2, 3} {
		b.compatible(bustest.ID(n))
		b.compatible(bustest.ID(n))
	}
	for _, h := range []*Hub{a, b} {
		bustest.Await(t, "no alarm", func() bool { return len(h.incompatibleAlarms()) == 0 })
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
