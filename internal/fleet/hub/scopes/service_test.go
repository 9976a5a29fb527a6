package scopes

import (
	"context"
	"errors"
	"fmt"
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
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

var (
	kim  = api.Caller{Principal: access.Principal{Name: "kim"}}
	load = route.TaskName{Kind: "cluster", Scope: "db", Task: "load"}
)

// refusal returns the status and the text of a refusal, or "0".
func refusal(err error) string {
	if r, ok := errors.AsType[*api.Refusal](err); ok && r.Hint != "" {
		return fmt.Sprintf("%d %s", r.Status, r.Why)
	}
	if err != nil {
		return err.Error()
	}
	return "0"
}

// TestDecisionsOfUsers: users decide about tasks without an open attempt, with a reason.
func TestDecisionsOfUsers(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.result(0, fleet.CheckFailed)
	s.tidy(h)
	retry := func(at route.TaskName, reason string) string {
		return refusal(Service{h}.RetryTask(t.Context(), kim, at, document.ReasonRequest{Reason: reason}))
	}
	resolve := func(reason string, result document.TaskPhase) string {
		return refusal(Service{h}.ResolveTask(t.Context(), kim, load, document.TaskResult{Reason: reason, Result: result}))
	}
	want := func(got, begin string) {
		t.Helper()
		if !strings.HasPrefix(got, begin) {
			t.Errorf("got %s, want %s", got, begin)
		}
	}
	long := strings.Repeat("x", maxReason+1)
	want(retry(load, ""), "400 cannot retry a task without a reason")
	want(retry(load, long), "400 cannot use a reason of 501 bytes")
	want(retry(load, long[1:]), "0")
	want(resolve("", document.TaskDone), "400 cannot set")
	want(resolve("why", document.TaskWaiting), "400 cannot set")
	want(resolve("why", document.TaskDone), "409 cannot set the result of the task load, because it is waiting")
	for _, at := range []route.TaskName{{Kind: "cluster", Scope: "db", Task: "other"},
		{Kind: "cluster", Scope: "other", Task: "load"}, {Kind: "a b", Scope: "db", Task: "load"}} {
		want(retry(at, "why"), "404 cannot find the task")
	}
	s.result(0, fleet.CheckOK)
	s.tidy(h)
	want(retry(load, "why"), "409 cannot decide about the task load: an attempt on db0 is not finished. It ends at 2026-")
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Interrupted: true})
	s.tidy(h)
	want(resolve("it exists", document.TaskDone), "0")
	if i := s.state(h).Instance(); i.Phase != task.Done || i.By != "kim" || i.Text != "it exists" {
		t.Errorf("%+v", i)
	}
	want(resolve("again", document.TaskDone), "409")
	want(retry(load, "again"), "0")
	s.wantPhase(h, task.Waiting)
	h.Declare(revision("d"), query.Scopes{})
	s.tidy(h)
	want(retry(load, "why"), "404 cannot find the task")
	s.wantTexts("a user sets the result: it exists", "a user orders another attempt: again")
}

// TestScopeDetail: a user sees the state of each member, the testers of each check, and the attempts of each task.
func TestScopeDetail(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	declared := db("a")
	declared.Scopes[0].Targets = append(declared.Scopes[0].Targets, "db3")
	h.Declare(revision("c"), declared)
	s.set(1, func(d *document.Target) { d.Connected = false })
	s.set(2, func(d *document.Target) { d.Frozen = "for a test" })
	s.result(0, fleet.CheckFailed)
	s.tidy(h)
	d, err := Service{h}.Scope(t.Context(), route.ScopeID{Kind: "cluster", Scope: "db"})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, m := range d.Members {
		got += fmt.Sprintf("%s %s; ", m.Name, m.State)
	}
	if got != "db0 connected; db1 offline; db2 frozen; db3 not_enrolled; " {
		t.Error(got)
	}
	c := d.Checks[0]
	if c.Verdict != document.VerdictFailed || c.Required != 2 || c.Failed != 1 || c.Unknown != 1 || len(c.Testers) != 4 ||
		c.Testers[0].Text != "refused" || c.Testers[2].Absent != document.ScopeFrozen {
		t.Errorf("%+v", c)
	}
	if w := d.Tasks[0].Waits; w != "check.formed" {
		t.Errorf("the task waits for %s", w)
	}
	for i := range 2 {
		s.set(i, func(d *document.Target) { d.Standing = fleet.Retired })
	}
	s.now = s.now.Add(time.Minute)
	if d, err = (Service{h}).Scope(t.Context(), route.ScopeID{Kind: "cluster", Scope: "db"}); err != nil ||
		d.Checks[0].Verdict != document.VerdictUnknown || d.Scope.Verdict != document.VerdictEmpty {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestTaskDetail: a user sees the attempts of a task and why it waits.
func TestTaskDetail(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r := s.job(h)
	is := func() document.ScopeTask {
		t.Helper()
		all, err := Service{h}.Tasks(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	if x := is(); x.Open == nil || x.Open.Job != r.ID || x.Open.Name != "db0" || x.Since != s.now.UnixNano() {
		t.Errorf("%+v", x)
	}
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskRefused, Error: "locked"})
	s.tidy(h)
	x := is()
	if x.Open != nil || len(x.Attempts) != 1 || x.Attempts[0].Text != "locked" || x.Decide ||
		x.Next != s.now.Add(task.FirstPause).UnixNano() || x.Command[0] != "load" {
		t.Errorf("%+v", x)
	}
	for i := range 3 {
		s.set(i, func(d *document.Target) { d.Behind = 1 })
	}
	s.now = s.now.Add(time.Minute)
	if x := is(); x.Waits != "no member is connected and ready" || x.Next != 0 {
		t.Errorf("%+v", x)
	}
}

// TestAlarmsOfTasks: a task that targets still verify raises no alarm, and a failed one does.
func TestAlarmsOfTasks(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	declared := db("a")
	declared.Scopes[0].Tasks[0].OnUnknown, declared.Scopes[0].Tasks[0].Verify = "verify", &source.Probe{}
	h.Declare(revision("c"), declared)
	s.tidy(h)
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Interrupted: true})
	s.tidy(h)
	s.wantPhase(h, task.Unknown)
	for _, a := range Alarms(h.Records) {
		if a.Kind != "scope_failed" || a.Count != 1 {
			t.Errorf("%+v", a)
		}
	}
}

// TestFailureIsAnError: the event of a task that failed is an error, as the log of the fleet shows errors.
func TestFailureIsAnError(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskFailed, Error: "exit status 1"})
	s.tidy(h)
	failed := map[fleet.HubEventKind]int{}
	for _, r := range s.log.Records() {
		e, err := fleet.ParseHubEvent(r)
		if err != nil {
			t.Fatal(err)
		}
		if e.Error != "" {
			failed[e.Kind]++
		}
	}
	if failed[fleet.TaskChanged] != 1 || failed[fleet.ScopeChanged] != 1 {
		t.Errorf("%v", failed)
	}
	a := Alarms(h.Records)
	if len(a) != 2 || a[0].Count != 1 || a[1].Count != 1 {
		t.Errorf("%+v", a)
	}
	s.wantTexts("scope cluster/db: pending: the task load waits")
}

// TestNoNeedlessWrites: without a change, nothing is written.
func TestNoNeedlessWrites(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Accepted: true})
	s.tidy(h)
	revs := func() (out [3]uint64) {
		out[0], _ = h.Records.Tasks.StoredRev(t.Context(), "cluster/db/load")
		out[1], _ = h.Records.Scopes.StoredRev(t.Context(), "cluster/db")
		out[2] = uint64(len(s.log.Records()))
		return out
	}
	s.tidy(h)
	before := revs()
	for range 3 {
		s.tidy(h)
		if _, _, err := h.decide(t.Context(), "cluster/db/load", task.Event{Kind: task.Tick}, false); err != nil {
			t.Fatal(err)
		}
	}
	if after := revs(); after != before {
		t.Errorf("the revisions change from %v to %v", before, after)
	}
}

// TestRemovedIsKept: a removed scope and its task remain for their time, and are not evaluated.
func TestRemovedIsKept(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.result(0, fleet.CheckFailed)
	s.tidy(h)
	h.Declare(revision("d"), query.Scopes{})
	for range 3 {
		s.tidy(h)
		s.now = s.now.Add(time.Minute)
	}
	if _, err := h.Records.Scopes.Entry(t.Context(), "cluster/db"); err != nil || !s.state(h).Undeclared {
		t.Errorf("the scope or its task is removed at once: %v", err)
	}
	h.Observe = func(context.Context) (map[fleet.TargetID]document.Target, error) {
		return nil, errors.New("no scope needs the targets")
	}
	e, err := h.evaluateAgain(t.Context())
	if err != nil || len(e.results) != 0 || len(e.input.Tasks) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestRunAfterAnError: an error is a warning, and does not end the work of the leader.
func TestRunAfterAnError(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	h.Observe = func(context.Context) (map[fleet.TargetID]document.Target, error) { return nil, errors.New("away") }
	warned := make(chan string, 1)
	h.Warn = func(text string) {
		select {
		case warned <- text:
		default:
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	if text := <-warned; text != "cannot update the scopes: away" {
		t.Error(text)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestOnJob: only jobs of tasks make the hub evaluate again.
func TestOnJob(t *testing.T) {
	h := newSite(t).hub()
	h.OnJob(records.Job{})
	select {
	case <-h.declared.wake:
		t.Error("another job makes the hub evaluate")
	default:
	}
	h.OnJob(records.Job{Job: fleet.Job{Task: &fleet.TaskAttempt{}}})
	select {
	case <-h.declared.wake:
	default:
		t.Error("a job of a task does not make the hub evaluate")
	}
}

// TestExpiredAttempt: the job of an attempt that must no longer begin is not created.
func TestExpiredAttempt(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.result(0, fleet.CheckFailed)
	s.tidy(h)
	_, _, err := h.decide(t.Context(), "cluster/db/load", task.Event{Kind: task.Begin, Target: string(bustest.ID(2)),
		Name: "db2", Limit: beginWithin}, false)
	if err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(beginWithin)
	s.tidy(h)
	if n := len(h.Records.Jobs.Values()); n != 0 {
		t.Errorf("%d jobs exist", n)
	}
}

// TestTextsOfChanges: an operator must act on the end of a task without success, and on no other change.
func TestTextsOfChanges(t *testing.T) {
	attempt := &task.Attempt{Name: "db0", Fence: 7, Outcome: fleet.TaskDone}
	verification := &task.Attempt{Name: "db1", Fence: 8, VerifyOnly: true}
	for want, c := range map[string]task.Change{
		"declared": {Kind: task.Defined},
		"declared again with content that is done":        {Kind: task.Defined, Text: "done"},
		"no longer declared":                              {Kind: task.Removed},
		"an attempt begins on db0, fence 7":               {Kind: task.Begun, Attempt: attempt},
		"the target accepted the attempt on db0, fence 7": {Kind: task.Accepted, Attempt: attempt},
		"done on db0, fence 7: why":                       {Kind: task.Succeeded, Attempt: attempt, Text: "why"},
		"failed and will be retried on db0, fence 7: why": {Kind: task.FailsOnce, Attempt: attempt, Text: "why"},
		"the target did not begin on db0, fence 7: why":   {Kind: task.Refused, Attempt: attempt, Text: "why"},
		"the result is unknown on db0, fence 7: why":      {Kind: task.IsUnknown, Attempt: attempt, Text: "why"},
		"a user orders another attempt: why":              {Kind: task.Retried, Text: "why"},
		"a user sets the result: why":                     {Kind: task.Resolved, Text: "why"},
		"a late result, done on db0, fence 7: why":        {Kind: task.Late, Attempt: attempt, Text: "why"},
		"!failed on db0, fence 7: why":                    {Kind: task.Fails, Attempt: attempt, Text: "why"},
		"!a user must decide whether it is done: why":     {Kind: task.Asks, Text: "why"},
		"a verification begins on db1, fence 8":           {Kind: task.Begun, Attempt: verification},
	} {
		text, failed := describe(c)
		if failed {
			text = "!" + text
		}
		if text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

// TestWaitsOfAFreeze: a frozen fleet is the reason for which tasks wait.
func TestWaitsOfAFreeze(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.Declare(revision("c"), db("a"))
	s.result(0, fleet.CheckFailed)
	s.tidy(h)
	freeze := assign.Freeze{Key: assign.AllKey, Reason: "for a test"}
	if err := h.Records.Freezes.Put(t.Context(), assign.AllKey, freeze, 0); err != nil {
		t.Fatal(err)
	}
	s.result(0, fleet.CheckOK)
	s.now = s.now.Add(time.Minute)
	all, err := Service{h}.Tasks(t.Context())
	if err != nil || all[0].Waits != "the fleet is frozen: for a test" {
		t.Errorf("%+v, %v", all, err)
	}
	if v := s.verdict(h); v != scope.Failed {
		t.Errorf("the verdict is %s", v)
	}
}
