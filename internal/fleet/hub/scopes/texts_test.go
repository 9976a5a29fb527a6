package scopes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

var dbID = route.ScopeID{Kind: "cluster", Scope: "db"}

// TestReasons: users see the reasons of verdicts in the alarm, the detail and the history. Other reasons of the same
// verdict are stored after a minute.
func TestReasons(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	declared := db("a")
	declared.Scopes[0].Tasks = nil
	h.Declare(revision("c"), declared)
	s.tidy(h)
	s.result(1, fleet.CheckFailed)
	s.now = s.now.Add(time.Minute)
	s.tidy(h)
	const one = "the check formed succeeds on 2 of 3 targets, 3 are required, 1 failed"
	const two = "the check formed succeeds on 1 of 3 targets, 3 are required, 2 failed"
	if a := Alarms(h.Records); len(a) != 1 || !strings.Contains(a[0].Text, "is failed: "+one+". See: ") {
		t.Errorf("%+v", a)
	}
	reasons := func() string {
		t.Helper()
		x, err := Service{h}.ScopeHistory(t.Context(), dbID)
		if err != nil || len(x.Verdicts) != 2 || x.Verdicts[0].Verdict != document.VerdictFailed ||
			x.Verdicts[1].Verdict != document.VerdictReady || len(x.Verdicts[0].Reasons) != 1 {
			t.Fatalf("%+v, %v", x, err)
		}
		return x.Verdicts[0].Reasons[0].Text
	}
	s.result(2, fleet.CheckFailed)
	s.now = s.now.Add(reasonsEvery / 2)
	s.tidy(h)
	if got := reasons(); got != one {
		t.Errorf("the reason is %s", got)
	}
	s.now = s.now.Add(reasonsEvery)
	s.tidy(h)
	if got := reasons(); got != two {
		t.Errorf("the reason is %s", got)
	}
	d, err := Service{h}.Scope(t.Context(), dbID)
	if err != nil || d.Scope.Reasons[0].Text != two || d.Scope.Reasons[0].Targets[1] != "db2" {
		t.Errorf("%+v, %v", d.Scope, err)
	}
}

// TestCopyOfEvaluation: requests of users within a few seconds use one evaluation, and get the error of another one.
func TestCopyOfEvaluation(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	if len(h.declared.wake) != 1 {
		t.Error("other scopes do not make the hub evaluate")
	}
	s.tidy(h)
	first, err := h.evaluation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Observe = func(context.Context) (map[fleet.TargetID]document.Target, error) { return nil, errors.New("away") }
	for _, after := range []time.Duration{0, evaluatedFor - 1} {
		s.now = first.at.Add(after)
		if e, err := h.evaluation(t.Context()); e != first || err != nil {
			t.Errorf("after %s: another evaluation, %v", after, err)
		}
	}
	for _, after := range []time.Duration{evaluatedFor, -1} {
		s.now = first.at.Add(after)
		if _, err := (Service{h}).Scope(t.Context(), dbID); err == nil {
			t.Errorf("after %s: no error", after)
		}
	}
}

// TestTaskAfterTask: a task begins after the one that it names is done.
func TestTaskAfterTask(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	declared := db("a")
	declared.Scopes[0].Tasks = append(declared.Scopes[0].Tasks, query.ScopeTask{Name: "more", Command: []string{"more"},
		Digest: "m", Timeout: 60, OnUnknown: "ask", After: []string{"task.load"}})
	h.Declare(revision("c"), declared)
	phase := func() task.Phase {
		f, _, _ := h.Records.Tasks.Get("cluster/db/more")
		return f.State.Phase()
	}
	s.tidy(h)
	s.tidy(h)
	if p := phase(); p != task.Waiting {
		t.Errorf("the second task is %s", p)
	}
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskDone})
	s.tidy(h)
	if p := phase(); p != task.Claimed {
		t.Errorf("the second task is %s", p)
	}
}

// TestDecide: a user must decide about an unknown result, but not while a target verifies it, nor about a removed task.
func TestDecide(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	declared := db("a")
	declared.Scopes[0].Tasks[0].OnUnknown, declared.Scopes[0].Tasks[0].Verify = "verify", &source.Probe{}
	h.Declare(revision("c"), declared)
	s.tidy(h)
	is := func() document.ScopeTask {
		t.Helper()
		s.now = s.now.Add(10 * time.Second)
		all, err := Service{h}.Tasks(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Interrupted: true})
	s.tidy(h)
	lost := s.now
	if x := is(); x.Phase != document.TaskUnknown || x.Decide {
		t.Errorf("%+v", x)
	}
	s.now = s.now.Add(task.FirstPause)
	s.tidy(h)
	if x := is(); x.Open == nil || !x.Open.VerifyOnly || x.Decide || x.Since != lost.UnixNano() {
		t.Errorf("%+v", x)
	}
	r = s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskNotDone})
	s.tidy(h)
	if x := is(); !x.Decide || x.Open != nil {
		t.Errorf("%+v", x)
	}
	h.Declare(revision("d"), query.Scopes{})
	s.tidy(h)
	if x := is(); x.Decide || !x.Undeclared {
		t.Errorf("%+v", x)
	}
}

// TestNewScopeAfterStart: the verdict of a new scope waits for targets that connect again.
func TestNewScopeAfterStart(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.began = s.now
	for i := range 2 {
		s.set(i, func(d *document.Target) { d.Connected = false })
	}
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	if v := s.verdict(h); v != "" {
		t.Errorf("the verdict is %s", v)
	}
	s.now = s.now.Add(settleFor)
	s.tidy(h)
	if v := s.verdict(h); v != scope.Failed {
		t.Errorf("the verdict is %s", v)
	}
}

// TestBeginsAfterFreeze: a freeze of the fleet that has ended does not stop tasks. A condition can be any check.
// The event of the attempt names its target.
func TestBeginsAfterFreeze(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	freeze := assign.Freeze{Key: assign.AllKey, Until: s.now.Unix() - 1}
	if err := h.Records.Freezes.Put(t.Context(), assign.AllKey, freeze, 0); err != nil {
		t.Fatal(err)
	}
	declared := db("a")
	declared.Scopes[0].Checks = append(declared.Scopes[0].Checks, query.ScopeCheck{Name: "other", Quorum: "all",
		Digest: "c2", Every: 30, Timeout: 10})
	h.Declare(revision("c"), declared)
	s.tidy(h)
	s.wantPhase(h, task.Claimed)
	targets := map[fleet.TargetID]bool{}
	for _, r := range s.log.Records() {
		e, err := fleet.ParseHubEvent(r)
		if err != nil {
			t.Fatal(err)
		}
		targets[e.Target] = true
	}
	if !targets[bustest.ID(0)] {
		t.Errorf("the targets of events are %v", targets)
	}
	all, err := Service{h}.Tasks(t.Context())
	if err != nil || all[0].Since != s.now.UnixNano() {
		t.Errorf("%+v, %v", all, err)
	}
}
