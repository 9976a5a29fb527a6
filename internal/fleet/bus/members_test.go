package bus

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// A target whose arrival was missed is connected when its first message arrives.
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
	if m.spoke("b"); len(m.events) > 0 && m.events[len(m.events)-1] != (event{"b", true}) ||
		!slices.Equal(m.list(), []fleet.TargetID{"b"}) {
		t.Errorf("%v are here", m.list())
	}
}

// A target has at most two connections: a third one ends the oldest. Connections of other targets
// stay.
func TestMostConnections(t *testing.T) {
	m := newMembers()
	for n := uint64(1); n <= 2; n++ {
		if end := m.admit("a", n); len(end) > 0 {
			t.Errorf("connection %d ends %d", n, end)
		}
		m.arrived("a", n)
	}
	if end := m.admit("b", 3); len(end) > 0 {
		t.Errorf("another target ends %d", end)
	}
	if end := m.admit("a", 4); !slices.Equal(end, []uint64{1}) {
		t.Errorf("a third connection ends %d", end)
	}
	if _, last := m.gone(1); last {
		t.Error("the target is gone with its oldest connection")
	}
	if end := m.admit("a", 5); !slices.Equal(end, []uint64{2}) {
		t.Errorf("the next connection ends %d", end)
	}
}
