package rollouts

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// Modules can have equal content. A rollback returns each of them to its own earlier content, also with the content of
// the log of another hub.
func TestEqualContent(t *testing.T) {
	store := bustest.NewStore()
	s := newSite(t, hubOf(t, store))
	const one, two, three = "top=1@c1 a=same@c1 b=same@c1 c=same@c2", "top=1@c1 a=new@c3 b=new@c3 c=new@c3",
		"top=1@c1 a=newer@c4 b=newer@c4 c=newer@c4"
	s.until(one, one)
	s.turn(one)
	s.bad = "=new@"
	s.until(two, two, one)
	s.hub = hubOf(t, store)
	s.until(two, one)
	if s.turn(two); len(s.alarms) != 1 || s.alarms[0].Held == nil || s.alarms[0].Held.Head != "c3" {
		t.Errorf("%+v", s.alarms)
	}
	s.bad = "=newer@"
	s.until(three, three, one)
	s.until(three, one)
}
