package local

import (
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
)

func TestStatesOfChanges(t *testing.T) {
	p := &plan.Plan{Changes: []plan.Change{{Addr: "file:/a"}, {Addr: "file:/old"}}}
	nameStates(p, []executor.StateRef{{ID: "file.a", Addrs: []addr.Addr{"file:/a"}}})
	if p.Changes[0].State != "file.a" || p.Changes[1].State != "" {
		t.Errorf("%+v", p.Changes)
	}
}
