package machine_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

func outcomes() []fleet.CheckOutcome {
	return []fleet.CheckOutcome{fleet.CheckPending, fleet.CheckOK, fleet.CheckFailed}
}

func outcome(check string, o fleet.CheckOutcome) fleet.CheckResult {
	return fleet.CheckResult{Scope: "cluster/a", Check: check, Digest: "d", Outcome: o, Text: "why"}
}

// checked returns the texts and errors of all events about checks.
func (w *world) checked() string {
	var out []string
	for _, a := range w.did {
		if ap, ok := a.(machine.Append); ok && ap.Report.Event.Kind == fleet.Checked {
			out = append(out, strings.TrimSuffix(ap.Report.Event.Text+" | "+ap.Report.Event.Error, " | "))
		}
	}
	w.did = nil
	return strings.Join(out, "; ")
}

func (w *world) tested(all ...fleet.CheckResult) { w.step(machine.ChecksChanged{Results: all}) }

// TestCheckReports: changed outcomes are reported, at most once in 10 seconds, with the newest results.
func TestCheckReports(t *testing.T) {
	w := newWorld()
	w.did = nil
	w.tested(outcome("x", fleet.CheckPending))
	want(t, "the first result", w.checked(), "cluster/a x: pending")
	w.tested(outcome("x", fleet.CheckPending))
	w.elapse(time.Minute)
	want(t, "the same result", w.checked(), "")
	w.tested(outcome("x", fleet.CheckFailed), outcome("y", fleet.CheckOK))
	want(t, "a failure", w.checked(), "cluster/a x: failed, cluster/a y: ok | cluster/a, check x: why")
	w.tested(outcome("x", fleet.CheckOK), outcome("y", fleet.CheckOK))
	want(t, "soon after", w.checked(), "")
	if w.wake != 10*time.Second {
		t.Errorf("it wakes after %s", w.wake)
	}
	w.elapse(w.wake)
	want(t, "later", w.checked(), "cluster/a x: ok")
	w.elapse(time.Minute)
	w.tested(outcome("y", fleet.CheckOK))
	want(t, "a removed check", w.checked(), "cluster/a x: no longer tested")
	other := outcome("y", fleet.CheckOK)
	other.Digest = "e"
	w.elapse(time.Minute)
	w.tested(other)
	want(t, "another condition", w.checked(), "cluster/a y: ok")
	w.elapse(time.Minute)
	w.tested()
	want(t, "no checks", w.checked(), "cluster/a y: no longer tested")
	if s := w.m.Status(); s.Checks != nil || w.durable().Checks != nil {
		t.Errorf("%+v", s.Checks)
	}
	if len(w.wrong) > 0 {
		t.Error(w.wrong)
	}
}

// TestCheckReturns: a result that another report carried to hubs is corrected, even if it returned before its own
// report.
func TestCheckReturns(t *testing.T) {
	w := newWorld()
	w.tested(outcome("x", fleet.CheckOK))
	w.tested(outcome("x", fleet.CheckFailed))
	w.step(machine.JobReceived{Job: fleet.Job{ID: "1", What: fleet.JobReport}})
	w.tested(outcome("x", fleet.CheckOK))
	w.did = nil
	w.elapse(10 * time.Second)
	want(t, "the return", w.checked(), "all results are as in the previous event")
	w.tested(outcome("x", fleet.CheckFailed))
	w.tested(outcome("x", fleet.CheckOK))
	w.elapse(time.Minute)
	want(t, "a short failure", w.checked(), "")
}

// TestChecksAfterRestart: a restart of the agent reports nothing about checks if nothing changed. After a reboot the
// results are unknown until they are tested again.
func TestChecksAfterRestart(t *testing.T) {
	w := newWorld()
	ok := outcome("x", fleet.CheckOK)
	w.tested(ok)
	boot := w.cfg.Boot
	w.restart(boot)
	if got := w.m.Status().Checks; !reflect.DeepEqual(got, []fleet.CheckResult{ok}) {
		t.Errorf("after a restart: %+v", got)
	}
	w.tested(ok)
	w.elapse(time.Minute)
	want(t, "after a restart", w.checked(), "")
	for _, boot := range []string{"another", ""} {
		w.restart(boot)
		if got := w.m.Status().Checks; got != nil {
			t.Errorf("after a reboot: %+v", got)
		}
		w.elapse(time.Minute)
		want(t, "after a reboot", w.checked(), "")
		w.tested(ok)
		want(t, "tested again", w.checked(), "cluster/a x: ok")
	}
}

// restart starts another process in a boot.
func (w *world) restart(boot string) {
	w.cfg.Boot = boot
	w.now.Mono = 0
	w.scopes = nil
	w.m = machine.New(w.cfg, w.copied(), uint64(len(w.outbox)), 0)
	w.did = nil
	w.step(machine.Started{})
}

// TestScopesAreRead: the scopes of each applied composition are read once, also at the start.
func TestScopesAreRead(t *testing.T) {
	w := newWorld()
	read := func() (out []string) {
		for _, a := range w.did {
			if r, ok := a.(machine.ReadScopes); ok {
				out = append(out, r.Has.Modules[0].Bundle.Digest[:10])
			}
		}
		w.did = nil
		return out
	}
	if got := read(); got != nil {
		t.Errorf("without an assignment: %v", got)
	}
	for n, version := range []string{"modules/a=1", "modules/a=1", "modules/a=2"} {
		w.offer(assignment(uint64(n+1), version))
		if w.run != nil {
			w.endRun(machine.Outcome{Result: machine.Done, Run: n + 1})
		}
		if got := read(); len(got) != map[bool]int{true: 0, false: 1}[n == 1] {
			t.Errorf("assignment %d: %v", n+1, got)
		}
	}
	w.start()
	if got := read(); len(got) != 1 {
		t.Errorf("at the start: %v", got)
	}
}

// TestScopesOfOthersAreRead: an assignment that only names other environments whose checks the target tests causes no
// run. The scopes are read with them at once.
func TestScopesOfOthersAreRead(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	for n, all := range [][]fleet.Environment{{{Name: "review-7", Parent: "staging"}}, nil} {
		w.scopes = nil
		a := assignment(uint64(n+2), "modules/a=1")
		a.TestsFor = all
		w.offer(a)
		if w.run != nil {
			t.Fatalf("assignment %d causes a run", n+2)
		}
		if w.scopes == nil || !fleet.SameEnvironments(w.scopes.TestsFor, all) {
			t.Errorf("assignment %d: the scopes are read with %+v", n+2, w.scopes)
		}
	}
}
