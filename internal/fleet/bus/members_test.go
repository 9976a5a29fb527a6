package bus

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// A target of which nobody heard that it is here is here when it speaks.
func TestSpoke(t *testing.T) {
	m := newMembers()
	m.spoke("a")
	m.admit("a", 1)
	m.admit("a", 2)
	m.admit("b", 3)
	if m.spoke("a"); !slices.Equal(m.list(), []fleet.TargetID{"a"}) {
		t.Errorf("%v are here", m.list())
	}
	m.gone(1)
	if _, last := m.gone(2); !last {
		t.Error("it was the newest connection that heard")
	}
	m.arrived("b", 3)
	if m.spoke("b"); len(m.events) > 0 && m.events[len(m.events)-1] != (event{"b", true}) || !slices.Equal(m.list(), []fleet.TargetID{"b"}) {
		t.Errorf("%v are here", m.list())
	}
}
