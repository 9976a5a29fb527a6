package coordination

import (
	"strings"
	"testing"
	"time"
)

// TestRelated: related owners do not hold slots at the same time, also if slots are free. An owner with a slot keeps
// it.
func TestRelated(t *testing.T) {
	d := Definition{Name: "reboots", Slots: 3, Lease: time.Minute}
	s, _ := Decide(State{}, Event{Kind: Define, Definition: d}, start)
	ask := func(owner string, related ...string) Answer {
		next, a := Decide(s, Event{Kind: Acquire, Owner: owner, Related: related}, start)
		s = next
		return a
	}
	if a := ask("guest", "host"); a.Refused != "" {
		t.Fatalf("%+v", a)
	}
	a := ask("host", "guest", "other")
	why := a.Explain(s)
	if a.Refused != Related || a.Blocker != "guest" || !strings.Contains(why, "guest has a slot of the lock reboots") {
		t.Errorf("%+v, %s", a, why)
	}
	if w := s.Waiting(start); len(w) != 1 || w[0].Owner != "host" {
		t.Errorf("%+v waits", w)
	}
	if a := ask("sibling", "host"); a.Refused != "" {
		t.Errorf("%+v", a)
	}
	if a := ask("guest", "sibling"); a.Refused != "" || len(s.Holders) != 2 {
		t.Errorf("an owner cannot renew its lease after a new relation: %+v", a)
	}
	for _, owner := range []string{"guest", "sibling"} {
		s, _ = Decide(s, Event{Kind: Release, Owner: owner}, start)
	}
	if a := ask("host", "guest", "sibling"); a.Refused != "" {
		t.Errorf("%+v", a)
	}
}
