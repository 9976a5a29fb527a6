package rollouts

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestNewTargetDuringARollback: while the fleet is rolled back to the content one, a new target gets it at once, and
// not the held content of the branch, although this content is stable until the rollout completes.
func TestNewTargetDuringARollback(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.head.Head.Strategies[0].Waves[0].Bake = 5
	s.head.Head.Root = fleet.Bundle{Digest: "t1"}
	for _, words := range []string{one, two} {
		s.until(words, words)
		s.turn(words)
	}
	s.head.Head.Bundles = map[string]fleet.Bundle{"modules/web": {Digest: "w2"}}
	back, late := "top=t1@c2 modules/web=w1@c1", fleet.TargetID("t1")
	s.turn(back)
	if text(*s.was[late]) == back {
		late = "t2"
	}
	delete(s.was, late)
	s.turn(back)
	if got := s.contents(); !slices.Equal(got, []string{back, two}) || s.was[late] == nil || text(*s.was[late]) != back {
		t.Errorf("%q, and the new target has %v", got, s.was[late])
	}
	s.until(back, back)
	s.turn(back)
	if got := phases(s.hub); got != "r3 completed, r2 completed, r1 completed" {
		t.Error(got)
	}
	if alarms := s.alarms; len(alarms) > 0 {
		t.Errorf("%+v", []assign.Alarm(alarms))
	}
}
