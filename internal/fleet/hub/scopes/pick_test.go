package scopes

import (
	"encoding/json"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// TestAble: only an active, connected and ready member with its newest assignment can do a task.
func TestAble(t *testing.T) {
	s := newSite(t)
	if !isAble(s.targets[bustest.ID(0)]) {
		t.Error("a ready member is not able")
	}
	for name, change := range map[string]func(*document.Target){
		"no ID":         func(d *document.Target) { d.ID = "" },
		"retired":       func(d *document.Target) { d.Standing = fleet.Retired },
		"revoked":       func(d *document.Target) { d.Standing = fleet.Revoked },
		"frozen":        func(d *document.Target) { d.Frozen = "for a test" },
		"suspect":       func(d *document.Target) { d.Suspect = &fleet.Suspicion{} },
		"offline":       func(d *document.Target) { d.Connected = false },
		"pending":       func(d *document.Target) { d.State = document.Pending },
		"behind":        func(d *document.Target) { d.Behind = 1 },
		"not accepted":  func(d *document.Target) { d.Accepted.Generation++ },
		"no assignment": func(d *document.Target) { d.Assigned, d.Accepted = document.Order{}, document.Order{} },
	} {
		d := s.targets[bustest.ID(0)]
		if change(&d); isAble(d) {
			t.Errorf("%s: it is able", name)
		}
	}
}

// TestPick: members with the newest commit come first, then members that did not refuse.
func TestPick(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	declared := db("a")
	declared.Scopes[0].Tasks[0].Retries = 5
	h.Declare(revision("c"), declared)
	s.tidy(h)
	answer := func(o fleet.TaskOutcome, next int) {
		t.Helper()
		r := s.job(h)
		s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: o})
		s.tidy(h)
		if s.state(h).Open == nil {
			s.now = s.now.Add(time.Hour)
			s.tidy(h)
		}
		if r := s.job(h); r.Pending[0] != bustest.ID(next) {
			t.Errorf("after %s, the next attempt is on %s", o, r.Pending[0])
		}
	}
	answer(fleet.TaskFailed, 0)
	answer(fleet.TaskRefused, 1)
	text, err := json.Marshal(records.Assignment{Assignment: fleet.Assignment{
		Root: fleet.Assigned{Revision: fleet.Revision{Commit: "c"}}}})
	if err != nil {
		t.Fatal(err)
	}
	h.Records.Assignments.Take(fleet.Entry{Key: string(bustest.ID(2)), Value: text, Rev: 1})
	answer(fleet.TaskFailed, 2)
}
