package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// rackOf returns the labels of a host: hosts whose names end with 8 or 9 have no rack.
func rackOf(name string) map[string]string {
	last := name[len(name)-1]
	if last >= '8' {
		return nil
	}
	return map[string]string{"rack": string("abc"[last%3])}
}

// limited checks that a grant exceeds neither the rate nor the limit of a rack.
func (f *fleet) limited(log []rollout.Event, e rollout.Event) {
	recent, busy, was := 0, 0, lost(log, e.Rollout)
	state, accepted := map[rollout.ID]rollout.Kind{}, map[rollout.ID]bool{}
	for _, p := range log {
		switch {
		case p.Rollout != e.Rollout:
		case p.Target != "":
			state[p.Target], accepted[p.Target] = p.Kind, false
			if p.Kind == rollout.Granted && f.now-p.At < 60 {
				recent++
			}
		case p.Kind == rollout.Resumed:
			for id, k := range state {
				accepted[id] = k == rollout.Failed || k == rollout.Silent
			}
		}
	}
	for id, k := range state {
		h := f.hosts[id]
		if h != nil && h.labels["rack"] == f.hosts[e.Target].labels["rack"] && inFlight(k) && !was[id] && !accepted[id] {
			busy++
		}
	}
	if s := f.strategy; s.Rate > 0 && recent+1 > s.Rate {
		f.tell("%d members get a grant within a minute", recent+1)
	}
	if s := f.strategy.Spread; s != nil && !e.Lost && busy+1 > s.Max {
		f.tell("%d members of the rack of %s are unavailable", busy+1, e.Target)
	}
}

// TestSpread: at most one host of each rack is unavailable, and hosts without a rack are one rack together.
func TestSpread(t *testing.T) {
	s := rollout.AtOnce()
	s.Spread = &rollout.Spread{Label: "rack", Max: 1}
	f := newFleet(t, 10, s)
	f.step(1)
	granted := 0
	for _, e := range f.log {
		if e.Kind == rollout.Granted {
			granted++
		}
	}
	if granted != 4 {
		t.Errorf("%d hosts of 3 racks and without a rack: %s", granted, f.text())
	}
	f.until(t, "the end", func() bool { return len(f.s.Open()) == 0 })
}

// TestSpreadThatIsStuck: failed hosts of a rack end the progress of this rack, until an operator accepts them.
func TestSpreadThatIsStuck(t *testing.T) {
	s := rollout.AtOnce()
	s.Spread = &rollout.Spread{Label: "rack", Max: 1}
	f := newFleet(t, 10, s)
	f.hosts["h00"].broken = true
	f.step(1)
	f.until(t, "the pause", func() bool { return f.s.Rollouts["r1"].Phase == rollout.OnHold })
	r := f.s.Rollouts["r1"]
	if want := "as many members with rack=a as may be unavailable failed or are silent"; r.Why != want {
		t.Errorf("%q", r.Why)
	}
	log, err := f.s.Order(rollout.Command{Action: rollout.ToResume, Rollout: "r1", By: "jane"}, f.now)
	if f.log = append(f.log, log...); err != nil {
		t.Fatal(err)
	}
	f.until(t, "the end", func() bool { return len(f.s.Open()) == 0 })
	for id, h := range f.hosts {
		if h.parts["web"] != "w1" {
			t.Errorf("%s has %v", id, h.parts)
		}
	}
}

// TestRate: not more than 3 hosts get the change within a minute.
func TestRate(t *testing.T) {
	s := rollout.AtOnce()
	s.Rate = 3
	f := newFleet(t, 7, s)
	f.until(t, "the end", func() bool { return len(f.s.Open()) == 0 && len(f.log) > 0 })
	if f.now < 1000+120 || f.now > 1000+200 {
		t.Errorf("it ended after %d s", f.now-1000)
	}
}
