package scopes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// site has hubs over one store, and the targets db0 to db2.
type site struct {
	*testing.T
	store   fleet.Store
	log     *bustest.Log
	now     time.Time
	targets map[fleet.TargetID]document.Target
	checks  map[fleet.TargetID][]fleet.CheckResult
}

func newSite(t *testing.T) *site {
	s := &site{T: t, store: bustest.NewStore(), log: bustest.NewLog(), now: noon,
		targets: map[fleet.TargetID]document.Target{}, checks: map[fleet.TargetID][]fleet.CheckResult{}}
	for i := range 3 {
		s.set(i, func(d *document.Target) {
			d.ID, d.Name, d.Standing, d.Connected = bustest.ID(i), fmt.Sprint("db", i), fleet.Active, true
			d.State, d.Assigned = document.Ready, document.Order{Epoch: 1, Generation: 1}
			d.Accepted = d.Assigned
		})
		s.result(i, fleet.CheckOK)
	}
	return s
}

// set changes a target.
func (s *site) set(i int, change func(*document.Target)) {
	d := s.targets[bustest.ID(i)]
	change(&d)
	s.targets[bustest.ID(i)] = d
}

// result sets the result of the check formed on a target.
func (s *site) result(i int, o fleet.CheckOutcome) {
	s.checks[bustest.ID(i)] = []fleet.CheckResult{{Scope: "cluster/db", Check: "formed", Digest: "c1", Outcome: o,
		Text: "refused"}}
}

// hub returns the scopes of a hub. Its mirrors follow the store until the test ends.
func (s *site) hub() *Scopes {
	s.Helper()
	table := &records.Table{}
	table.Scopes = records.NewMirror(s.store, "scope/", records.ParseScope)
	table.Tasks = records.NewMirror(s.store, "task/", records.ParseTask)
	table.Restorations = records.NewMirror[records.Restoration](s.store, "restored/", nil)
	table.Epochs = records.NewMirror[records.Epoch](s.store, "rule/", nil)
	table.Freezes = records.NewMirror[assign.Freeze](s.store, "freeze/", nil)
	table.Jobs = records.NewMirror(s.store, "job/", records.ParseJob)
	table.Assignments = records.NewMirror[records.Assignment](bustest.NewStore(), "", nil)
	ctx, stop := context.WithCancel(s.Context())
	follows := []interface {
		Follow(context.Context) error
		Filled() <-chan struct{}
	}{table.Scopes, table.Tasks, table.Restorations, table.Epochs, table.Freezes, table.Jobs}
	done := make(chan struct{}, len(follows))
	for _, m := range follows {
		go func() { _ = m.Follow(ctx); done <- struct{}{} }()
		<-m.Filled()
	}
	s.Cleanup(func() {
		stop()
		for range follows {
			<-done
		}
	})
	warn := func(text string) { s.Log(text) }
	now := func() time.Time { return s.now }
	h := New(Config{Now: now, Warn: warn, Records: table,
		Events:  events.Recorder{Hub: "hub1", Log: s.log, Now: now, Warn: warn},
		Observe: func(context.Context) (map[fleet.TargetID]document.Target, error) { return s.targets, nil },
		Checks:  func(context.Context) (map[fleet.TargetID][]fleet.CheckResult, error) { return s.checks, nil }})
	h.began = noon.Add(-time.Hour)
	return h
}

// tidy lets a hub decide as Run does.
func (s *site) tidy(h *Scopes) {
	s.Helper()
	if err := h.tidy(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// revision returns a revision of an unknown time.
func revision(commit string) fleet.Revision { return fleet.Revision{Commit: commit} }

// db returns the cluster db with a check and the task load.
func db(digest string) query.Scopes {
	return query.Scopes{Kinds: []query.ScopeKind{{Name: "cluster", Overlap: true, Empty: "empty"}}, Scopes: []query.Scope{{
		Kind: "cluster", Name: "db", Targets: []string{"db0", "db1", "db2"}, MinMembers: 2,
		Checks: []query.ScopeCheck{{Name: "formed", Quorum: "all", Digest: "c1", Every: 30, Timeout: 10}},
		Tasks: []query.ScopeTask{{Name: "load", Command: []string{"load"}, Input: "secret", After: []string{"check.formed"},
			Timeout: 600, OnUnknown: "ask", Digest: digest}}}}}
}

// state returns the state of the task load.
func (s *site) state(h *Scopes) task.State {
	s.Helper()
	e, err := h.Records.Tasks.Entry(s.Context(), "cluster/db/load")
	if err != nil {
		s.Fatal(err)
	}
	f, err := h.Records.Tasks.Parse(e.Value)
	if err != nil {
		s.Fatal(err)
	}
	return f.State
}

func (s *site) wantPhase(h *Scopes, want task.Phase) {
	s.Helper()
	if got := s.state(h); got.Phase() != want {
		s.Fatalf("the task is %s, want %s: %+v", got.Phase(), want, got)
	}
}

// verdict returns the stored verdict.
func (s *site) verdict(h *Scopes) scope.Verdict {
	f, _, _ := h.Records.Scopes.Get("cluster/db")
	return f.State.Verdict.Verdict
}

// job returns the job of the open attempt.
func (s *site) job(h *Scopes) records.Job {
	s.Helper()
	open := s.state(h).Open
	if open == nil {
		s.Fatal("no attempt is open")
	}
	r, _, ok := h.Records.Jobs.Get(JobID("cluster/db", "load", open.Fence))
	if !ok {
		s.Fatalf("the attempt %+v has no job", open)
	}
	return r
}

// answers lets the target of a job answer.
func (s *site) answers(h *Scopes, id string, a fleet.JobAnswer) {
	s.Helper()
	_, err := h.Records.Jobs.Change(s.Context(), id, func(r *records.Job) error {
		all := map[fleet.TargetID]records.JobAnswer{}
		for i := range 3 {
			all[bustest.ID(i)] = records.AnswerOf(a, s.now)
		}
		r.Answered(all)
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
}

// texts returns the events of the log.
func (s *site) texts() (out string) {
	for _, r := range s.log.Records() {
		e, err := fleet.ParseHubEvent(r)
		if err != nil {
			s.Fatal(err)
		}
		out += e.By + ": " + e.Text + "\n"
	}
	return out
}

func (s *site) wantTexts(want ...string) {
	s.Helper()
	text := s.texts()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.Errorf("no event contains %q:\n%s", w, text)
		}
	}
}
