package rundoc

import (
	"encoding/json"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
)

func TestPlanDocumentNamesStates(t *testing.T) {
	doc := PlanOf(PlanFormat, &plan.Plan{Changes: []plan.Change{{Addr: "file:/etc/motd", State: "file.motd"}}})
	if got := doc.Changes[0].State; got != "file.motd" {
		t.Errorf("the state is %q", got)
	}
}

// TestRunDocument: the document of a run has the durations and notes, and no image. Lists are never null.
func TestRunDocument(t *testing.T) {
	d := executor.RunDetails{Took: map[int]int64{1: 7}, Notes: []string{"kept a file"}}
	d.Plan = &plan.Plan{Changes: []plan.Change{{Addr: "file:/a", From: &image.Image{}}, {Addr: "file:/b"}}}
	doc := Of(d)
	if doc.Info.Outcome != Unfinished || doc.Plan.Changes[0].Took != 0 || doc.Plan.Changes[1].Took != 7 ||
		doc.Notes[0] != "kept a file" {
		t.Errorf("%+v", doc)
	}
	text, err := json.Marshal(doc)
	if err != nil || strings.Contains(string(text), "null") || strings.Contains(string(text), `"from":{`) {
		t.Errorf("%s %v", text, err)
	}
	if doc := Of(executor.RunDetails{}); doc.Plan != nil {
		t.Errorf("without a plan: %+v", doc.Plan)
	}
}
