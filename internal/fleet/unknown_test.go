package fleet_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestUnknownFields: unknown fields of a report are ignored. An order with an unknown field is
// refused: the field could change the meaning of other fields.
func TestUnknownFields(t *testing.T) {
	id := sample().Target
	text := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Replace(b, []byte("{"), []byte(`{"newer_than_this":{"x":[1]},`), 1)
	}
	report := fleet.Report{Format: fleet.ReportFormat, Target: id, Seq: 1, Event: fleet.Event{Kind: fleet.Started}}
	if r, err := fleet.ParseReport(text(report)); err != nil || r.Seq != 1 {
		t.Errorf("a report: %v", err)
	}
	inner := bytes.Replace(text(report), []byte(`"status":{`), []byte(`"status":{"newer":1,`), 1)
	if _, err := fleet.ParseReport(inner); err != nil {
		t.Errorf("the status of a report: %v", err)
	}
	if e, err := fleet.ParseHubEvent(text(fleet.HubEvent{Format: fleet.HubEventFormat,
		Kind: fleet.LeaderChanged})); err != nil || e.Kind != fleet.LeaderChanged {
		t.Errorf("an event: %v", err)
	}
	if _, err := fleet.ParseExports(text(fleet.Exports{})); err == nil {
		t.Error("exported values with an unknown field are accepted")
	}
	if _, err := fleet.ParseAssignment(text(sample())); err == nil {
		t.Error("an assignment with an unknown field is accepted")
	}
	if d, err := fleet.ParseJob(text(fleet.Job{ID: "r1", What: fleet.JobReport})); err == nil ||
		d != (fleet.Job{ID: "r1"}) {
		t.Errorf("a request with an unknown field: %+v, %v", d, err)
	}
	limited := []byte(`{"id":"r1","what":"run","run":{"argv":["true"],"only_on":"tuesday"},"by":"ann","at":1}`)
	if d, err := fleet.ParseJob(limited); err == nil || d.ID != "r1" || d.Run != nil {
		t.Errorf("a command with an unknown field: %+v, %v", d, err)
	}
	if d, err := fleet.ParseJobAnswer(text(fleet.JobAnswer{ID: "r1"})); err != nil || d.ID != "r1" {
		t.Errorf("the end of a request: %v", err)
	}
	if _, err := fleet.ParseRequest(text(fleet.Request{})); err == nil {
		t.Error("a request of an agent with an unknown field is accepted")
	}
}
