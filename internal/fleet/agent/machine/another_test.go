package machine_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// A host that is enrolled anew is another target: what the old one was assigned does not
// keep it from taking a lower number, and no report of it is sent any more.
func TestEnrolledAnew(t *testing.T) {
	old, id := fleet.TargetID(strings.Repeat("a", 26)), fleet.TargetID(strings.Repeat("b", 25)+"a")
	kept := machine.Kept{Accepted: &fleet.Assignment{Target: old, Epoch: 3, Generation: 9}, Seq: 7, Modules: map[string]machine.Module{"modules/web": {}}}
	m := machine.New(machine.Config{Target: id, Version: "1"}, kept, 7, 2)
	if s := m.Status(); s.Epoch != 0 || s.Generation != 0 || len(s.Modules) != 0 {
		t.Errorf("%+v", s)
	}
	if s := machine.New(machine.Config{Target: old, Version: "1"}, kept, 7, 2).Status(); s.Epoch != 3 || s.Generation != 9 {
		t.Errorf("its own: %+v", s)
	}
}
