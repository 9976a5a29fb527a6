package scopes

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
)

// TestVerdictIsStored: all hubs show the verdict, and its changes are events and alarms.
func TestVerdictIsStored(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	s.tidy(h) // no commit was read
	if len(h.Records.Scopes.Values()) != 0 {
		t.Error("scopes are stored before the first commit")
	}
	declared := db("a")
	declared.Scopes[0].Tasks = nil
	h.Declare(revision("c"), declared)
	s.tidy(h)
	if v := s.verdict(h); v != scope.Ready {
		t.Errorf("the verdict is %s", v)
	}
	s.result(1, fleet.CheckFailed)
	s.now = s.now.Add(time.Minute)
	s.tidy(h)
	s.tidy(h)
	f, _, _ := h.Records.Scopes.Get("cluster/db")
	if f.State.Verdict.Verdict != scope.Failed || len(f.State.Earlier) != 1 ||
		f.State.Verdict.Since != s.now.UnixMilli() {
		t.Errorf("%+v", f.State)
	}
	a := Alarms(h.Records)
	if len(a) != 1 || a[0].Kind != assign.ScopeFailed || !strings.Contains(a[0].Text, "fettle scope show cluster/db") {
		t.Errorf("the alarms are %+v", a)
	}
	h.Declare(revision("d"), query.Scopes{})
	s.tidy(h)
	if len(Alarms(h.Records)) != 0 {
		t.Error("a scope that is not declared raises an alarm")
	}
	s.now = s.now.Add(KeepRemoved)
	s.tidy(h)
	if _, err := h.Records.Scopes.Entry(t.Context(), "cluster/db"); err == nil {
		t.Error("the scope is kept permanently")
	}
	s.wantTexts("hub hub1: scope cluster/db: declared", "scope cluster/db: ready", "failed, before ready",
		"no longer declared")
	if n := strings.Count(s.texts(), "\n"); n != 4 {
		t.Errorf("%d events:\n%s", n, s.texts())
	}
}

// TestHubThatStarts: agents connect again after the start of a hub, so verdicts do not become worse in this time.
func TestHubThatStarts(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	was := s.verdict(h)
	h.began = s.now
	for i := range 3 {
		s.set(i, func(d *document.Target) { d.Connected = false })
	}
	s.tidy(h)
	if v := s.verdict(h); v != was {
		t.Errorf("the verdict changes from %s to %s", was, v)
	}
	s.now = s.now.Add(settleFor)
	s.tidy(h)
	if v := s.verdict(h); v != scope.Failed {
		t.Errorf("the verdict is %s", v)
	}
}

// TestFailureAfterStart: a failed task, and a check that fails on connected targets, count directly after the start.
func TestFailureAfterStart(t *testing.T) {
	for name, fail := range map[string]func(*site, *Scopes){
		"check": func(s *site, _ *Scopes) { s.result(1, fleet.CheckFailed) },
		"task": func(s *site, h *Scopes) {
			r := s.job(h)
			s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskFailed})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			h := s.hub()
			h.Declare(revision("c"), db("a"))
			s.tidy(h)
			h.began = s.now
			s.set(2, func(d *document.Target) { d.Connected = false })
			s.tidy(h)
			if v := s.verdict(h); v != scope.Pending {
				t.Errorf("the verdict is %s", v)
			}
			fail(s, h)
			s.tidy(h)
			if v := s.verdict(h); v != scope.Failed || len(Alarms(h.Records)) == 0 {
				t.Errorf("the verdict is %s, and the alarms are %v", v, Alarms(h.Records))
			}
			all, err := Service{h}.Scopes(t.Context())
			if err != nil || all[0].Since != s.now.UnixNano() {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

// TestFailedBeforeStart: a scope that failed remains failed until the targets that can prove otherwise are connected.
func TestFailedBeforeStart(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.result(1, fleet.CheckFailed)
	s.tidy(h)
	h.began = s.now
	s.set(1, func(d *document.Target) { d.Connected = false })
	s.tidy(h)
	if v := s.verdict(h); v != scope.Failed {
		t.Errorf("the verdict is %s", v)
	}
	s.set(1, func(d *document.Target) { d.Connected = true })
	s.result(1, fleet.CheckOK)
	s.tidy(h)
	if v := s.verdict(h); v != scope.Pending {
		t.Errorf("the verdict is %s", v)
	}
}

// TestTaskIsDoneOnce: several hubs that lead at the same time create one attempt and one job.
func TestTaskIsDoneOnce(t *testing.T) {
	s := newSite(t)
	hubs := []*Scopes{s.hub(), s.hub(), s.hub()}
	for _, h := range hubs {
		h.Declare(revision("c"), db("a"))
	}
	s.tidy(hubs[0])
	s.wantPhase(hubs[0], task.Claimed)
	var wg sync.WaitGroup
	for range 5 {
		for _, h := range hubs {
			wg.Go(func() { _ = h.tidy(t.Context()) }) // a conflict is not an error of this test
		}
		wg.Wait()
	}
	r := s.job(hubs[0])
	if n := len(hubs[0].Records.Jobs.Values()); n != 1 || r.Pending[0] != bustest.ID(0) || r.Task.Digest != "a" ||
		r.Task.Expires != s.now.Add(beginWithin).Unix() {
		t.Errorf("%d jobs, %+v", n, r)
	}
	if text := s.state(hubs[0]); text.Fence != r.Task.Fence {
		t.Errorf("%+v", text)
	}
	f, _, _ := hubs[0].Records.Scopes.Get("cluster/db")
	if f.State.Scope.Tasks[0].Input != "" {
		t.Error("hubs store the input of a task")
	}
	s.answers(hubs[0], r.ID, fleet.JobAnswer{ID: r.ID, Accepted: true})
	s.tidy(hubs[0])
	s.wantPhase(hubs[0], task.Running)
	s.answers(hubs[0], r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskDone})
	s.tidy(hubs[0])
	s.wantPhase(hubs[0], task.Done)
	s.tidy(hubs[0])
	if v := s.verdict(hubs[0]); v != scope.Ready {
		t.Errorf("the verdict is %s", v)
	}
	s.wantTexts("task load of cluster/db: an attempt begins on db0", "accepted the attempt on db0", "done on db0")
}

// TestNothingBegins: a task waits for its conditions, for a member that is ready, and for the end of freezes.
func TestNothingBegins(t *testing.T) {
	for name, change := range map[string]func(*site, *Scopes){
		"failed check": func(s *site, _ *Scopes) { s.result(1, fleet.CheckFailed) },
		"not ready": func(s *site, _ *Scopes) {
			for i := range 3 {
				s.set(i, func(d *document.Target) { d.State = document.Pending })
			}
		},
		"behind": func(s *site, _ *Scopes) {
			for i := range 3 {
				s.set(i, func(d *document.Target) { d.Behind = 1 })
			}
		},
		"not accepted": func(s *site, _ *Scopes) {
			for i := range 3 {
				s.set(i, func(d *document.Target) { d.Accepted.Epoch = 2 })
			}
		},
		"frozen fleet": func(s *site, h *Scopes) {
			if err := h.Records.Freezes.Put(s.Context(), assign.AllKey, assign.Freeze{Key: assign.AllKey}, 0); err != nil {
				s.Fatal(err)
			}
		},
		"undeclared": func(s *site, h *Scopes) { h.Declare(revision("d"), query.Scopes{}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			h := s.hub()
			h.Declare(revision("c"), db("a"))
			change(s, h)
			s.tidy(h)
			s.tidy(h)
			if n := len(h.Records.Jobs.Values()); n != 0 {
				t.Errorf("%d jobs exist", n)
			}
		})
	}
}

// TestRefusedElsewhere: after a refusal, another member gets the next attempt.
func TestRefusedElsewhere(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskRefused, Error: "another content"})
	s.tidy(h)
	s.wantPhase(h, task.Waiting)
	s.now = s.now.Add(task.FirstPause)
	s.tidy(h)
	if r := s.job(h); r.Pending[0] != bustest.ID(1) {
		t.Errorf("the next attempt is on %s", r.Pending[0])
	}
}

// TestOlderAgent: an agent that does not know tasks refuses them, and another member does the task.
func TestOlderAgent(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID,
		Error: `cannot execute a job of the type "task": this agent supports run`})
	s.tidy(h)
	s.wantPhase(h, task.Waiting)
	if text := s.state(h).Instance().Text; text != "its agent is older and does no tasks" {
		t.Errorf("the reason is %q", text)
	}
	s.now = s.now.Add(task.FirstPause)
	s.tidy(h)
	if r := s.job(h); r.Pending[0] != bustest.ID(1) {
		t.Errorf("the next attempt is on %s", r.Pending[0])
	}
}

// TestLostTarget: without a result, a user must decide, and a late result counts.
func TestLostTarget(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r := s.job(h)
	s.now = s.now.Add(beginWithin + 10*time.Minute + task.Reserve)
	s.tidy(h)
	s.wantPhase(h, task.Unknown)
	s.tidy(h)
	a := Alarms(h.Records)
	if len(a) != 2 || a[1].Kind != assign.TaskUndecided ||
		!strings.Contains(a[1].Text, "fettle task resolve cluster/db load") {
		t.Errorf("the alarms are %+v", a)
	}
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Interrupted: true})
	s.tidy(h)
	s.wantPhase(h, task.Unknown)
	s = newSite(t)
	h = s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r = s.job(h)
	s.now = s.now.Add(time.Hour)
	s.tidy(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskDone})
	s.tidy(h)
	s.wantPhase(h, task.Done)
}

// TestUnansweredWrite: if a hub does not learn whether its attempt is stored, the job is created later.
func TestUnansweredWrite(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.result(0, fleet.CheckFailed)
	s.tidy(h)
	_, a, err := h.decide(t.Context(), "cluster/db/load", task.Event{Kind: task.Begin, Target: string(bustest.ID(2)),
		Name: "db2", Limit: beginWithin}, false)
	if err != nil || a.Attempt == nil {
		t.Fatal(err)
	}
	s.tidy(h)
	if r := s.job(h); r.Pending[0] != bustest.ID(2) || r.Task.Fence != a.Attempt.Fence {
		t.Errorf("%+v", r)
	}
}

// TestRestoredFleet: tasks without a record may be done.
func TestRestoredFleet(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	epoch := records.Epoch{Number: 2, Restored: s.now.Unix()}
	if err := h.Records.Epochs.Put(t.Context(), records.EpochKey, epoch, 0); err != nil {
		t.Fatal(err)
	}
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	s.wantPhase(h, task.Unknown)
	more := db("a")
	more.Scopes[0].Tasks = append(more.Scopes[0].Tasks, query.ScopeTask{Name: "later", Digest: "x", Timeout: 1})
	h.Declare(revision("d"), more)
	s.tidy(h)
	f, _, _ := h.Records.Tasks.Get("cluster/db/later")
	if p := f.State.Phase(); p != task.Claimed {
		t.Errorf("a task that is declared after the restoration is %s", p)
	}
}

// TestRemovedTask: the task and its history are kept for a time.
func TestRemovedTask(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r := s.job(h)
	without := db("a")
	without.Scopes[0].Tasks = nil
	h.Declare(revision("d"), without)
	s.now = s.now.Add(KeepRemoved)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskDone})
	s.tidy(h)
	s.now = s.now.Add(KeepRemoved)
	s.tidy(h)
	if _, err := h.Records.Tasks.Entry(t.Context(), "cluster/db/load"); err == nil {
		t.Error("the task is kept permanently")
	}
	s.wantTexts("task load of cluster/db: no longer declared", "done on db0")
}

// TestSimilarScope: an error about an unknown scope suggests a similar one.
func TestSimilarScope(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	for id, want := range map[route.ScopeID]string{
		{Kind: "cluster", Scope: "dp"}:    "Did you mean cluster/db? List the scopes: fettle scope list",
		{Kind: "cluster", Scope: "queue"}: "List the scopes: fettle scope list",
	} {
		_, err := Service{h}.Scope(t.Context(), id)
		_, older := Service{h}.ScopeHistory(t.Context(), id)
		for _, err := range []error{err, older} {
			if r, ok := errors.AsType[*api.Refusal](err); !ok || r.Hint != want {
				t.Errorf("%v: got %v", id, err)
			}
		}
	}
}
