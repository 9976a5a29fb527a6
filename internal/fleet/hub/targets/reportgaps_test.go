package targets

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// Targets with incomplete reports are asked after a while: first by the hub of their connection, a
// limited number at a time, and again after a longer time.
func TestRequestsOfFullReports(t *testing.T) {
	all := bustest.IDs(5)
	here := func(id fleet.TargetID) bool { return id != all[4] }
	var l reportGaps
	asked := map[fleet.TargetID][]int{}
	for look := 1; look <= 40; look++ {
		now := all
		if look == 3 {
			now = all[1:] // the first is well for a moment
		}
		few := l.next(now, here, 3)
		if len(few) > 3 {
			t.Fatalf("%d are asked at once", len(few))
		}
		for _, id := range few {
			asked[id] = append(asked[id], look)
		}
	}
	want := map[int][]int{0: {2, 5, 25}, 1: {2, 22}, 2: {2, 22}, 3: {3, 23}, 4: {6, 26}}
	for i, id := range all {
		if got := asked[id]; len(got) != len(want[i]) || got[0] != want[i][0] || got[1] != want[i][1] {
			t.Errorf("%s is asked at the looks %v, want %v", id, got, want[i])
		}
	}
	if l.next(nil, here, 3); len(l.rounds) != 0 {
		t.Error("those who lack nothing are remembered")
	}
}
