package rollouts

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// added returns a site in which only t1 has the module new, whose content is stable.
func added(t *testing.T) *site {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.more = map[fleet.TargetID]string{"t1": "modules/new=n1@c1"}
	s.until(one, one, one+" modules/new=n1@c1")
	s.turn(one)
	return s
}

// with returns the number of targets with the module new.
func (s *site) with() (n int) {
	for _, a := range s.was {
		if _, ok := find(a, "modules/new"); ok {
			n++
		}
	}
	return n
}

// selectAll gives all targets the module new.
func (s *site) selectAll() {
	for _, id := range []fleet.TargetID{"t1", "t2", "t3"} {
		s.more[id] = "modules/new=n1@c1"
	}
}

// TestAddedModuleWaits: a commit selects more targets for a stable module. They get it in waves, and it says so.
func TestAddedModuleWaits(t *testing.T) {
	s := added(t)
	s.head.Head.Strategies[0].Waves[0].Bake = 5
	s.selectAll()
	next := "top=t2@c2 modules/web=w1@c1"
	s.turn(next)
	if s.with() > 2 {
		t.Errorf("%q", s.contents())
	}
	said := false
	for id, a := range s.was {
		if _, ok := find(a, "modules/new"); !ok {
			said = said || strings.Contains(s.why[id], "rollout r2")
		}
	}
	if !said {
		t.Errorf("%v", s.why)
	}
	s.until(next, next+" modules/new=n1@c1")
	if got := phases(s.hub); !strings.HasPrefix(got, "r2 ") {
		t.Error(got)
	}
}

// TestAddedModuleFails: the targets return to their modules, and new targets get the module still.
func TestAddedModuleFails(t *testing.T) {
	s := added(t)
	s.selectAll()
	s.bad = "t2@c2 modules/web=w1@c1 modules/new"
	next := "top=t2@c2 modules/web=w1@c1"
	for range 20 {
		s.turn(next)
	}
	if s.with() != 1 || !strings.Contains(phases(s.hub), "r2 rolled-back") {
		t.Errorf("%q, %s, %v", s.contents(), phases(s.hub), s.why)
	}
	delete(s.was, "t1")
	s.turn(one)
	if s.with() != 1 {
		t.Errorf("a new target has %s, because %s", text(*s.was["t1"]), s.why["t1"])
	}
}

// TestNewLabelAddsAModule: an operator gives a target a label, and the target gets the stable module without a rollout.
func TestNewLabelAddsAModule(t *testing.T) {
	s := added(t)
	before := phases(s.hub)
	s.more["t2"] = "modules/new=n1@c1"
	s.labels = map[fleet.TargetID]map[string]string{"t2": {"role": "new"}}
	s.turn(one)
	if s.with() != 2 || phases(s.hub) != before || len(s.was["t2"].Withheld) > 0 {
		t.Errorf("%q, %s, %v", s.contents(), phases(s.hub), s.why)
	}
	s.more["t3"] = "modules/new=n1@c1"
	s.labels["t3"] = map[string]string{"role": "new"}
	s.turn(two)
	if a := s.was["t3"]; strings.Contains(text(*a), "new") && !slices.Equal(a.Withheld, nil) {
		t.Errorf("%s", text(*a))
	}
	s.until(two, two+" modules/new=n1@c1")
}
