package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestRequests: each job is acknowledged with its result, or refused with the reason.
func TestRequests(t *testing.T) {
	long := func(n int) *fleet.Job {
		return &fleet.Job{What: fleet.JobRun, Run: &fleet.Command{Argv: []string{"true"}}, Signed: strings.Repeat("x", n)}
	}
	for what, c := range map[string]struct {
		do      fleet.Job
		nothing bool // nothing is assigned
		says    string
		run     string // the run that follows
		kinds   string
	}{
		"apply":          {fleet.Job{What: fleet.JobApply}, false, "", "asked a", ""},
		"verify":         {fleet.Job{What: fleet.JobVerify}, false, "", "asked a", ""},
		"report":         {fleet.Job{What: fleet.JobReport}, false, "", "no run", "told"},
		"another":        {fleet.Job{What: "dance"}, false, `a job of the type "dance"`, "no run", ""},
		"apply nothing":  {fleet.Job{What: fleet.JobApply}, true, "no assignment yet", "no run", ""},
		"verify nothing": {fleet.Job{What: fleet.JobVerify}, true, "no assignment yet", "no run", ""},
		"report nothing": {fleet.Job{What: fleet.JobReport}, true, "", "no run", "told"},
		"run nothing":    {fleet.Job{What: fleet.JobRun}, false, "it contains no command", "no run", ""},
		"an invalid command": {fleet.Job{What: fleet.JobRun, Run: &fleet.Command{}}, false, "give either an action",
			"no run", ""},
		"no attempt": {fleet.Job{What: fleet.JobTask}, false, "it contains no attempt", "no run", ""},
		"an invalid attempt": {fleet.Job{What: fleet.JobTask, Task: &fleet.TaskAttempt{Scope: "cluster/a", Task: "t"}},
			false, "its scope, name, digest or expiry", "no run", ""},
		"an attempt with a command": {fleet.Job{What: fleet.JobTask, Task: attempt(60).Task,
			Run: &fleet.Command{Argv: []string{"true"}}}, false, "and also a command", "no run", ""},
		"a command with an attempt": {fleet.Job{What: fleet.JobRun, Task: attempt(60).Task,
			Run: &fleet.Command{Argv: []string{"true"}}}, false, "and also an attempt", "no run", ""},
		"an attempt":              {attempt(60), false, "", "no run", ""},
		"the longest signature":   {*long(fleet.MaxSignedJob), false, "", "no run", ""},
		"too long, the signature": {*long(fleet.MaxSignedJob + 1), false, "cannot accept a signature", "no run", ""},
	} {
		w := newWorld()
		if !c.nothing {
			w.offer(assignment(1, "modules/a=1"))
			w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		}
		w.did = nil
		c.do.ID, c.do.By = "x", "ada"
		w.step(machine.JobReceived{Job: c.do})
		if got := w.answer(t, "x").Error; (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", what, got)
		}
		want(t, what, inRun(w), c.run)
		want(t, what, w.kinds(), c.kinds)
		if w.run != nil && (w.run.By != "ada" || w.run.Full != (c.do.What == fleet.JobVerify)) {
			t.Errorf("%s: %+v", what, w.run)
		}
		if k := w.durable(); c.says != "" && k.ApplyOrderedBy+k.VerifyOrderedBy+strings.Join(k.FinishedJobs, "") != "" {
			t.Errorf("%s: a refused request is kept: %+v", what, k)
		}
	}
}

// TestRequestsAreForgotten: the newest 256 jobs are remembered, so that none of them is executed
// twice.
func TestRequestsAreForgotten(t *testing.T) {
	w := newWorld()
	for i := range 300 {
		w.step(machine.JobReceived{Job: fleet.Job{ID: fmt.Sprint(i), What: fleet.JobReport}})
	}
	if done := w.durable().FinishedJobs; len(done) != 256 || done[0] != "44" || done[255] != "299" {
		t.Errorf("%d are remembered", len(done))
	}
}

// TestReportsAreDroppedOnce: an acknowledgement drops the sent report once, and no report that was
// not sent.
func TestReportsAreDroppedOnce(t *testing.T) {
	w := newWorld()
	w.up = true
	w.step(machine.Link{Up: true})
	w.step(machine.JobReceived{Job: fleet.Job{ID: "x", What: fleet.JobReport}})
	for _, c := range []struct {
		seq   uint64
		drops bool
	}{{9, false}, {1, true}, {1, false}, {2, true}, {1, false}} {
		w.did = nil
		w.send = 0
		w.step(machine.Acked{Seq: c.seq})
		if did[machine.Drop](w) != c.drops {
			t.Errorf("report %d: dropped is %t", c.seq, !c.drops)
		}
	}
}

// TestEndOfAnUnclearTry: a new process does not continue the attempt of the previous process.
func TestEndOfAnUnclearTry(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	if !w.durable().Attempts.Open {
		t.Fatal("a try is under way and not on the disk")
	}
	w.start()
	if k := w.durable(); k.Attempts.Open || k.Attempts.Count != 1 || k.Modules["modules/a"].State != fleet.ModulePending {
		t.Errorf("%+v, %+v", k.Attempts, k.Modules)
	}
}

// TestUnwatchedHosts: a host that cannot be watched is checked after five minutes, not immediately.
func TestUnwatchedHosts(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.did = nil
	w.step(machine.Watched{Why: "too many files"})
	w.step(machine.Watched{Why: "too many files"})
	want(t, "reports", w.kinds(), "failed")
	if w.run != nil || w.wake != 5*time.Minute {
		t.Errorf("%s, woken in %s", inRun(w), w.wake)
	}
	w.elapse(5 * time.Minute)
	want(t, "then", inRun(w), "sweep a")
}
