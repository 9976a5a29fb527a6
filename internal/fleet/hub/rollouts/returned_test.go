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

// TestNewTargetDuringARollout: a new target gets the stable content, and not the content of the head, which a rollout
// has not finished.
func TestNewTargetDuringARollout(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.until(one, one)
	s.turn(one)
	s.head.Head.Strategies[0].Waves[0].Bake = 50
	s.head.Head.Root = fleet.Bundle{Digest: "t1"}
	s.head.Head.Bundles = map[string]fleet.Bundle{"modules/web": {Digest: "w2"}}
	s.turn(two)
	if got := s.contents(); !slices.Equal(got, []string{one, two}) {
		t.Fatalf("%q", got)
	}
	late := fleet.TargetID("t1")
	if text(*s.was[late]) == two {
		late = "t2"
	}
	delete(s.was, late)
	for range 3 {
		s.turn(two)
	}
	if a := s.was[late]; has(a, "modules/web") != has(assignment(one), "modules/web") {
		t.Errorf("the new target has %v, because %s", a, s.why[late])
	}
}
