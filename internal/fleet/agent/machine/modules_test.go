package machine_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// TestModulesThatNeedEachOther: a cycle of needs, which no compiler makes, blocks its modules, and
// the search ends.
func TestModulesThatNeedEachOther(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1", "modules/c=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=2<modules/b:availability", "modules/b=1<modules/c:availability",
		"modules/c=1<modules/b:availability"))
	want(t, "the states", w.states(),
		"a blocked (modules/b waits: modules/c waits: modules/b is part of a cycle of needs); b ready; c ready")
}

// TestTimesAreWatched: the wall clock can jump, so a machine that waits for a time checks it once a
// minute, and only then.
func TestTimesAreWatched(t *testing.T) {
	for what, at := range map[string]func(a *fleet.Assignment) *fleet.Assigned{
		"the top":  func(a *fleet.Assignment) *fleet.Assigned { return &a.Root },
		"a module": func(a *fleet.Assignment) *fleet.Assigned { return &a.Modules[0] },
	} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		if w.wake < 20*time.Minute {
			t.Fatalf("%s: without a reason it is woken in %s", what, w.wake)
		}
		a := assignment(2, "modules/a=2")
		at(&a).NotBefore = w.now.Wall/int64(time.Second) + 600
		w.offer(a)
		if w.run != nil || w.wake != time.Minute {
			t.Errorf("%s: %s, woken in %s", what, inRun(w), w.wake)
		}
		w.now.Wall += int64(10 * time.Minute)
		w.elapse(time.Minute)
		want(t, what, inRun(w), "assigned a")
		w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
		if w.wake < 20*time.Minute {
			t.Errorf("%s: afterwards it is woken in %s", what, w.wake)
		}
	}
}

// TestDriftIsReportedOnce: drift is reported again only if the number of addresses changes.
func TestDriftIsReportedOnce(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	for i, c := range []struct {
		drift int
		kinds string
		state string
	}{{0, "", "a ready; b ready"}, {2, "drifted", "a drifted; b ready"}, {2, "", "a drifted; b ready"},
		{1, "drifted", "a drifted; b ready"}, {0, "ready", "a ready; b ready"}, {0, "", "a ready; b ready"}} {
		w.step(machine.Touched{})
		w.did = nil
		w.endRun(machine.Outcome{Result: machine.Done, Parts: map[string]machine.Part{"modules/a": {Drift: c.drift}}})
		if got := w.kinds(); got != c.kinds {
			t.Errorf("look %d: %q, want %q", i, got, c.kinds)
		}
		want(t, "the states", w.states(), c.state)
		if got := w.m.Status().Drift; got != c.drift {
			t.Errorf("look %d: the status counts %d", i, got)
		}
	}
	w.step(machine.Touched{})
	w.did = nil
	w.step(machine.Drifted{Modules: map[string]int{"modules/a": 0, "modules/x": 0}})
	want(t, "no drift", w.kinds(), "")
	w.step(machine.Drifted{Modules: map[string]int{"modules/a": 1, "modules/b": 2}, Text: "file:/x"})
	want(t, "drift", w.kinds(), "drifted")
	for _, a := range w.did {
		if r, ok := a.(machine.Append); ok && (r.Report.Event.Module != "modules/a" || r.Report.Event.Changes != 3 ||
			r.Report.Event.Text != "file:/x") {
			t.Errorf("%+v", r.Report.Event)
		}
	}
	if m := w.durable().Modules; m["modules/a"].Drift != 1 || m["modules/b"].Drift != 2 {
		t.Errorf("%+v", m)
	}
}

// TestValuesOfOthersAreWaitedFor: a module that waits for a value of another target is blocked,
// which is reported once. A frozen module is held, which the freeze reports.
func TestValuesOfOthersAreWaitedFor(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.did = nil
	waits := machine.Outcome{Result: machine.Done, Run: 1, Changes: 1,
		Parts: map[string]machine.Part{"modules/a": {Waits: "a value of db1"}}}
	w.endRun(waits)
	want(t, "the first", w.kinds(), "waiting applied")
	want(t, "the states", w.states(), "a blocked (a value of db1)")
	w.step(machine.Touched{})
	w.did = nil
	w.endRun(waits)
	if did := w.kinds(); did == "waiting applied" || did == "waiting" {
		t.Errorf("again: %s", did)
	}
	a := assignment(2, "modules/a=2")
	a.Frozen = "a freeze"
	w.did = nil
	w.offer(a)
	want(t, "frozen", w.states(), "a frozen (frozen: a freeze)")
	if kinds := w.kinds(); kinds == "waiting" {
		t.Errorf("frozen: %s", kinds)
	}
}

// TestFactsAndRunsOfOutcomes: the newest run and facts are stored; a run without facts keeps the
// earlier facts.
func TestFactsAndRunsOfOutcomes(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	facts := func(v string) map[string]string { return map[string]string{"os": v} }
	for i, c := range []struct {
		run   int
		facts map[string]string
		want  string
	}{{1, facts("12"), "12"}, {2, nil, "12"}, {0, facts("13"), "13"}, {3, facts("13"), "13"}, {3, facts("13"), "13"}} {
		w.step(machine.Touched{})
		w.endRun(machine.Outcome{Result: machine.Done, Run: c.run, Facts: c.facts})
		k := w.durable()
		if k.Facts["os"] != c.want || c.run > 0 && k.Run != c.run {
			t.Errorf("outcome %d: run %d, %v", i, k.Run, k.Facts)
		}
	}
	if len(w.wrong) > 0 {
		t.Error(w.wrong)
	}
}
