package repository

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestPinned: only changes of the followed refs are reported.
func TestPinned(t *testing.T) {
	var p pinned
	at := func(ref string, s fleet.Standing) fleet.Target {
		t := fleet.Target{Standing: s}
		if ref != "" {
			t.Pin = &fleet.Pin{Ref: ref}
		}
		return t
	}
	for i, c := range []struct {
		target fleet.Target
		want   bool
	}{
		{at("", fleet.Active), false}, {at("v1", fleet.Active), true}, {at("v1", fleet.Active), false},
		{at("v2", fleet.Active), true},
		{at("v2", fleet.Retired), true}, {at("v2", fleet.Retired), false}, {fleet.Target{}, false},
	} {
		if got := p.changed("a", c.target); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}
