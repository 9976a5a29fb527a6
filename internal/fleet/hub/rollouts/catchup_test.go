package rollouts

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestTurnsCatchUp: a target without contact gets no stable content in advance, and the hub knows that it must decide
// again. It gets the content when it has contact.
func TestTurnsCatchUp(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.until(one, one)
	s.turn(one)
	gone := s.head.Targets["t3"]
	gone.Connected = false
	s.head.Targets["t3"] = gone
	s.until(two, one, two)
	for range 5 {
		s.turn(two)
	}
	if got := text(*s.was["t3"]); got != one || !strings.Contains(phases(s.hub), "r2 completed") {
		t.Fatalf("t3 has %s, %s", got, phases(s.hub))
	}
	turn, err := s.hub.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turn.Plan(s.head, s.desired(two))
	if got := turn.Away(); !slices.Equal(got, []fleet.TargetID{"t3"}) || turn.Open() {
		t.Errorf("the hub waits for %v: %t", got, turn.Open())
	}
	turn.End()
	gone.Connected = true
	s.head.Targets["t3"] = gone
	s.until(two, two)
}

// TestDescribeCatchUp: only failures are events for users.
func TestDescribeCatchUp(t *testing.T) {
	for want, e := range map[string]rollout.Event{
		"targets that got the stable content and failed: 2": {Kind: rollout.CaughtUp, Targets: []fleet.TargetID{"a", "b"},
			Why: "failed"},
		"": {Kind: rollout.CaughtUp, Targets: []fleet.TargetID{"a"}},
	} {
		if got := describe(e); got != want {
			t.Errorf("%q", got)
		}
	}
}
