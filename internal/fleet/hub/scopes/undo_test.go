package scopes

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/lang/query"
)

// undoable returns the cluster db whose task load has an undo.
func undoable() query.Scopes {
	all := db("a")
	all.Scopes[0].Tasks[0].Undo = &query.ScopeTask{Name: "load", Command: []string{"unload"}, Input: "secret", Timeout: 60,
		OnUnknown: "ask", Digest: "u"}
	return all
}

// loaded returns a hub whose cluster did the task on the target db1.
func loaded(s *site) *Scopes {
	s.Helper()
	h := s.hub()
	s.set(0, func(d *document.Target) { d.State = document.Pending })
	h.Declare(revision("c"), undoable())
	s.tidy(h)
	s.end(h, fleet.TaskDone)
	s.set(0, func(d *document.Target) { d.State = document.Ready })
	s.wantPhase(h, task.Done)
	return h
}

// end lets the target of the open attempt send its result.
func (s *site) end(h *Scopes, o fleet.TaskOutcome) {
	s.Helper()
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: o, Interrupted: o == "", Error: "why"})
	s.tidy(h)
}

// wantJob compares the target of the open attempt.
func (s *site) wantJob(h *Scopes, target int, digest string) {
	s.Helper()
	r := s.job(h)
	if len(r.Pending) != 1 || r.Pending[0] != bustest.ID(target) || !r.Task.Undo || r.Task.Digest != digest {
		s.Errorf("the job is %+v of %+v", r.Pending, r.Task)
	}
}

// TestUndoOfRemovedScope: after a cluster was removed, its former members undo its task: first the member that did it.
func TestUndoOfRemovedScope(t *testing.T) {
	s := newSite(t)
	h := loaded(s)
	h.Declare(revision("d"), query.Scopes{})
	s.tidy(h)
	s.wantJob(h, 1, "u")
	s.end(h, fleet.TaskRefused)
	s.now = s.now.Add(10 * time.Second)
	s.tidy(h)
	s.wantJob(h, 0, "u")
	all, err := Service{h}.Tasks(t.Context())
	if err != nil || len(all) != 1 || !all[0].Undo || !all[0].Undeclared || all[0].State() != "undo claimed" ||
		!all[0].Open.Undo || all[0].Digest != "u" {
		t.Errorf("%+v, %v", all, err)
	}
	e, err := h.Records.Tasks.Entry(t.Context(), "cluster/db/load")
	if text := string(e.Value); err != nil || !strings.Contains(text, records.UndoFormat) ||
		strings.Contains(text, "secret") {
		t.Errorf("%s, %v", text, err)
	}
	s.end(h, fleet.TaskDone)
	s.wantPhase(h, task.Done)
	s.tidy(h)
	if st := s.state(h); st.Open != nil || len(Alarms(h.Records)) != 0 {
		t.Errorf("it is undone twice: %+v", st)
	}
	s.wantTexts("task load of cluster/db: no longer declared", "task load of cluster/db: it will be undone",
		"task load of cluster/db: undo: done on db0")
	s.now = s.now.Add(KeepRemoved)
	s.tidy(h)
	_, noTask := h.Records.Tasks.Entry(t.Context(), "cluster/db/load")
	_, noScope := h.Records.Scopes.Entry(t.Context(), "cluster/db")
	if noTask == nil || noScope == nil {
		t.Errorf("the records are kept permanently: %v, %v", noTask, noScope)
	}
}

// TestUndoWithoutMembers: an undo that no member can do waits permanently, and a user can end it.
func TestUndoWithoutMembers(t *testing.T) {
	s := newSite(t)
	h := loaded(s)
	declared := undoable()
	declared.Scopes[0].Tasks = nil
	for i := range 3 {
		s.set(i, func(d *document.Target) { d.Connected = false })
	}
	h.Declare(revision("d"), declared)
	s.tidy(h)
	d, err := Service{h}.Scope(t.Context(), route.ScopeID{Kind: "cluster", Scope: "db"})
	if err != nil || len(d.Tasks) != 1 || d.Tasks[0].State() != "undo waiting" ||
		d.Tasks[0].Why() != "waits: no member is connected and ready" {
		t.Errorf("%+v, %v", d.Tasks, err)
	}
	h.Declare(revision("e"), query.Scopes{})
	s.tidy(h)
	s.now = s.now.Add(2 * KeepRemoved)
	s.tidy(h)
	s.tidy(h)
	if _, _, ok := h.Records.Scopes.Get("cluster/db"); !ok {
		t.Error("the scope of an undo is forgotten")
	}
	at := route.TaskName{Kind: "cluster", Scope: "db", Task: "load"}
	if err := (Service{h}).ResolveTask(t.Context(), api.Caller{Principal: access.Principal{Name: "kim"}}, at,
		document.TaskResult{Result: document.TaskDone, Reason: "the hosts are gone"}); err != nil {
		t.Error(err)
	}
	s.wantPhase(h, task.Done)
	s.wantTexts("task load of cluster/db: undo: a user sets the result: the hosts are gone")
}

// TestFailedUndo: an undo that failed, or whose result is unknown, raises an alarm, also of a scope that was removed.
func TestFailedUndo(t *testing.T) {
	for o, want := range map[fleet.TaskOutcome]assign.AlarmKind{fleet.TaskFailed: assign.TaskFailed,
		"": assign.TaskUndecided} {
		s := newSite(t)
		h := loaded(s)
		h.Declare(revision("d"), query.Scopes{})
		s.tidy(h)
		s.end(h, o)
		a := Alarms(h.Records)
		if len(a) != 1 || a[0].Kind != want || !strings.Contains(a[0].Text, "undo of the task load of cluster/db") {
			t.Errorf("%q: %+v", o, a)
		}
	}
}

// TestUndoAfterRestoration: a hub that was restored from a backup, which has the task, does not undo it again.
func TestUndoAfterRestoration(t *testing.T) {
	s := newSite(t)
	h := loaded(s)
	epoch := records.Epoch{Number: 2, Restored: s.now.Unix()}
	if err := h.Records.Epochs.Put(t.Context(), records.EpochKey, epoch, 0); err != nil {
		t.Fatal(err)
	}
	h.Declare(revision("d"), query.Scopes{})
	s.tidy(h)
	if st := s.state(h); st.Phase() != task.Unknown || !st.Instance().Ask || !st.Undoing || st.Open != nil {
		t.Errorf("%+v", st)
	}
}
