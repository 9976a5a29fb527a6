package host

import (
	"testing"

	"fettle.dev/fettle/internal/plan"
)

func TestPlanDocumentNamesStates(t *testing.T) {
	doc := PlanJSON("fettle.plan/1", &plan.Plan{Changes: []plan.Change{{Addr: "file:/etc/motd", State: "file.motd"}}})
	if got := doc.Changes[0].State; got != "file.motd" {
		t.Errorf("the state is %q", got)
	}
}
