package render_test

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/render"
)

func TestLater(t *testing.T) {
	var b strings.Builder
	render.Style{}.Plan(&b, &plan.Plan{Later: []plan.Later{
		{Action: plan.Update, Addr: "file:/etc/site", Why: "phase 2: the list changed"},
		{Addr: "file:/etc/tls", State: "site.tls/file.conf", Why: "needs the output of exec:cert"},
		{State: "file.each", Why: "needs the output of exec:list"},
	}}, render.PlanOptions{})
	want := `
Then, when this is done:

  ~ file:/etc/site  phase 2: the list changed
  * file:/etc/tls   (known after apply) needs the output of exec:cert
  * file.each       (known after apply) needs the output of exec:list
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("the plan is\n%s", b.String())
	}
	b.Reset()
	render.Style{}.Report(&b, "Applied", &executor.Report{Run: 9, Runs: []int{7, 8, 9}, Changed: 4,
		Outcome: journal.Succeeded, Duration: time.Second}, time.UTC)
	if b.String() != "Applied in 1s: 4 changed (runs 7, 8 and 9).\n" {
		t.Errorf("the report is %q", b.String())
	}
}
