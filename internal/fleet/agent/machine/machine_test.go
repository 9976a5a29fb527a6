package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// fetchAll completes a fetch successfully.
func (w *world) fetchAll() {
	if w.fetch != nil {
		w.endFetch("", false)
	}
}

func (w *world) offer(a fleet.Assignment) {
	w.all = append(w.all, a)
	w.step(machine.Offered{Assignment: a})
	w.fetchAll()
}

func (w *world) kinds() string {
	var out []string
	for _, a := range w.did {
		if ap, ok := a.(machine.Append); ok {
			kind := string(ap.Report.Event.Kind)
			if strings.HasSuffix(ap.Report.Event.Text, "all is ready") {
				kind += ",ready"
			}
			out = append(out, kind)
		}
	}
	return strings.Join(out, " ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func inRun(w *world) string {
	if w.run == nil {
		return "no run"
	}
	out := []string{string(w.run.Cause)}
	for _, as := range w.run.Want.Modules {
		out = append(out, strings.TrimPrefix(as.Module, "modules/"))
	}
	return strings.Join(out, " ")
}

func TestNeedsAreWaitedFor(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/base=1", "modules/web=1<modules/base:availability",
		"modules/site=1<modules/web:version"))
	want(t, "the first run", inRun(w), "assigned base")
	want(t, "states", w.states(),
		"base applying; web blocked (modules/base is not applied yet (pending)); site blocked (modules/web is not applied yet (pending))")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Changes: 1})
	want(t, "the second", inRun(w), "assigned base web")
	w.endRun(machine.Outcome{Result: machine.CheckFailed, Run: 2,
		Parts: map[string]machine.Part{"modules/base": {Error: "no answer"}}})
	want(t, "a check fails", inRun(w), "no run")
	w.elapse(time.Minute)
	want(t, "again", inRun(w), "retry base web")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2})
	want(t, "the third", inRun(w), "assigned base web site")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 3, Changes: 1})
	want(t, "states", w.states(), "base ready; web ready; site ready")
	want(t, "told", w.kinds(), "started accepted waiting waiting applied failed applied applied,ready")
}

func TestAFailureIsGivenUp(t *testing.T) {
	bad := machine.Outcome{Result: machine.RolledBack, Run: 2, Undo: true, Error: "x",
		Parts: map[string]machine.Part{"modules/b": {Error: "boom"}}}
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=2", "modules/b=2"))
	for range 2 {
		w.endRun(bad)
		want(t, "states", w.states(), "a pending (the run was undone); b pending (the agent tries again) error: boom")
		w.elapse(time.Hour)
	}
	w.endRun(bad)
	want(t, "without it", inRun(w), "assigned a b")
	if w.run.Want.Modules[1].Bundle != bundle("modules/b", "1") {
		t.Error("the module that failed is not at what it was")
	}
	w.endRun(machine.Outcome{Result: machine.Done, Run: 3})
	want(t, "states", w.states(), "a ready; b failed error: boom")
	w.step(machine.JobReceived{Job: fleet.Job{ID: "1", What: fleet.JobApply, By: "ada"}})
	if inRun(w) != "asked a b" || w.run.By != "ada" || w.run.Want.Modules[1].Bundle != bundle("modules/b", "2") {
		t.Errorf("%s: who asks for it gets another try", inRun(w))
	}
}

// Drift of other modules is repaired while a module fails, but not in every step.
func TestDriftBesideAFailure(t *testing.T) {
	bad := machine.Outcome{Result: machine.Failed, Run: 2, Error: "x",
		Parts: map[string]machine.Part{"modules/b": {Error: "boom", Left: 1}}}
	w := newWorld()
	w.offer(assignment(1, "modules/a=1", "modules/b=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=2", "modules/b=2"))
	for range 3 {
		w.endRun(bad)
		w.elapse(3 * time.Minute)
	}
	want(t, "states", w.states(), "a ready; b failed error: boom")
	want(t, "nothing happens", inRun(w), "no run")
	w.step(machine.Touched{})
	want(t, "something happens", inRun(w), "noticed a b")
	w.endRun(bad)
	w.step(machine.Touched{})
	want(t, "again at once", inRun(w), "no run")
	w.elapse(5 * time.Minute)
	want(t, "in a while", inRun(w), "noticed a b")
}

// An assignment that is accepted during the last attempt of an older one starts immediately, even
// if the older one could not be compiled.
func TestNewerWhileItFails(t *testing.T) {
	for _, how := range []machine.Outcome{
		{Result: machine.Failed, Run: 2, Error: "x", Parts: map[string]machine.Part{"modules/a": {Error: "boom"}}},
		{Result: machine.Broken, Error: "x", Parts: map[string]machine.Part{"": {Error: "x"}}},
	} {
		w := newWorld()
		w.offer(assignment(1, "modules/a=1"))
		w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		w.offer(assignment(2, "modules/a=2"))
		if how.Result == machine.Failed {
			for range 2 {
				w.endRun(how)
				w.elapse(3 * time.Minute)
			}
		}
		w.offer(assignment(3, "modules/a=3"))
		w.endRun(how)
		if inRun(w) != "assigned a" || w.run.Want.Modules[0].Bundle != bundle("modules/a", "3") {
			t.Errorf("%s: %s", how.Result, inRun(w))
		}
	}
}

// A run that did not begin has applied nothing.
func TestTheWholeFails(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Failed, Error: "cannot open the state",
		Parts: map[string]machine.Part{"": {Error: "cannot open the state"}}})
	want(t, "states", w.states(), "a pending (the run ended before this module)")
	if s := w.m.Status(); s.Error == "" || s.Modules[0].Commit != "" || w.durable().Applied != nil {
		t.Errorf("%+v", s)
	}
}

func TestRefused(t *testing.T) {
	w := newWorld()
	w.offer(assignment(5))
	other := assignment(6)
	other.Target = "bbbbbbbbbbbbbbbbbbbbbbbbbb"
	twice := assignment(5, "modules/a=1")
	for _, a := range []fleet.Assignment{assignment(4), assignment(4), other, twice, assignment(5)} {
		w.step(machine.Offered{Assignment: a})
	}
	w.step(machine.Forged{Why: "no trusted key signed it"})
	want(t, "told", w.kinds(), "started accepted refused refused refused refused")
	if w.durable().Accepted.Generation != 5 {
		t.Error("it did not stay")
	}
}

func TestDrift(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1, Changes: 3})
	w.step(machine.Touched{})
	want(t, "own changes are looked at once", inRun(w), "noticed a")
	w.endRun(machine.Outcome{Result: machine.Done})
	want(t, "then", inRun(w), "no run")
	w.step(machine.Touched{})
	w.step(machine.Drifted{Modules: map[string]int{"modules/a": 1}, Text: "file:/x"})
	want(t, "states", w.states(), "a drifted")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 2, Changes: 1, Repaired: 1})
	w.step(machine.Touched{})
	w.endRun(machine.Outcome{Result: machine.Done, Parts: map[string]machine.Part{"modules/a": {Drift: 2}}})
	want(t, "by policy", w.states(), "a drifted")
	want(t, "told", w.kinds(), "started accepted applied,ready drifted repaired,ready drifted")
}

func TestFrozenLockedCancelled(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Locked, Error: "another fettle works"})
	want(t, "locked", w.states()+", "+inRun(w), "a pending (another fettle works), no run")
	w.elapse(time.Minute)
	want(t, "after that", inRun(w), "assigned a")
	w.endRun(machine.Outcome{Result: machine.Frozen, Error: "ada looks at it"})
	want(t, "frozen", w.states()+", "+inRun(w), "a frozen (frozen: ada looks at it), no run")
	w.elapse(time.Hour)
	if w.run == nil || !w.run.Look {
		t.Error("a frozen machine is looked at")
	}
	w.endRun(machine.Outcome{Result: machine.Looked})
	w.step(machine.LocalFreeze{})
	want(t, "thawed", inRun(w), "assigned a")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	gone := assignment(2, "modules/a=2")
	gone.Withdrawn = "suspended"
	w.offer(gone)
	want(t, "withdrawn", w.states()+", "+inRun(w), "a frozen (suspended), no run")
}

func TestNotBefore(t *testing.T) {
	w := newWorld()
	a := assignment(1, "modules/a=1", "modules/b=1")
	a.Modules[1].NotBefore = w.now.Wall/int64(time.Second) + 90
	w.offer(a)
	want(t, "now", inRun(w), "assigned a")
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	if w.wake > time.Minute {
		t.Errorf("it looks at the clock in %s", w.wake)
	}
	w.elapse(2 * time.Minute)
	want(t, "then", inRun(w), "assigned a b")
}

func TestBrokenKeepsWhatStands(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
	w.offer(assignment(2, "modules/a=2"))
	w.endRun(machine.Outcome{Result: machine.Broken, Error: "fettle.hcl:1: no",
		Parts: map[string]machine.Part{"": {Error: "fettle.hcl:1: no"}}})
	want(t, "states", w.states()+", "+inRun(w), "a failed error: fettle.hcl:1: no, no run")
	w.step(machine.Touched{})
	if w.run == nil || w.run.Want.Modules[0].Bundle != bundle("modules/a", "1") {
		t.Error("what stands is not kept")
	}
	w.endRun(machine.Outcome{Result: machine.Done})
	w.offer(assignment(3, "modules/a=3"))
	want(t, "the next", inRun(w), "assigned a")
}

// A certificate is renewed after two thirds of its validity, by the wall clock, even if that jumps.
func TestRenewal(t *testing.T) {
	w := newWorld()
	now := w.now.Wall / int64(time.Second)
	w.step(machine.Certificate{From: now, Until: now + 24*3600})
	w.elapse(15 * time.Hour)
	if w.renew {
		t.Error("too early")
	}
	w.now.Wall += int64(365 * 24 * time.Hour)
	w.elapse(time.Second)
	if !w.renew {
		t.Error("not renewed")
	}
	if w.elapse(time.Minute); w.wake < time.Minute || len(w.wrong) > 0 {
		t.Errorf("during a renewal, woken in %s, %q", w.wake, w.wrong)
	}
	w.renew = false
	w.step(machine.Renewed{Error: "no hub"})
	if w.renew || w.wake > 2*time.Minute {
		t.Errorf("tried again at once, or in %s", w.wake)
	}
}

// While the agent is not connected, it tries a renewal every few minutes: a target with an expired
// certificate cannot connect.
func TestRenewalWhileTheHubsAreAway(t *testing.T) {
	w := newWorld()
	now := w.now.Wall / int64(time.Second)
	w.step(machine.Certificate{From: now, Until: now + 24*3600})
	w.elapse(25 * time.Hour)
	for tries := range 20 {
		if !w.renew {
			t.Fatalf("no try after %d", tries)
		}
		w.renew = false
		w.step(machine.Renewed{Error: "no hub"})
		w.elapse(5 * time.Minute)
	}
}

// Targets that got their certificates at the same time do not renew them at the same time.
func TestRenewalsPart(t *testing.T) {
	late := 0
	for i := range 64 {
		m := machine.New(machine.Config{Target: fleet.TargetID(fmt.Sprint("t", i))}, machine.StoredState{}, 0, 0)
		m.Step(machine.Certificate{From: 1, Until: 1 + 24*3600}, machine.Now{})
		for _, a := range m.Step(machine.Tick{}, machine.Now{Wall: int64(17 * time.Hour), Mono: 17 * time.Hour}) {
			if _, renews := a.(machine.Renew); renews {
				late++
			}
		}
	}
	if late < 16 || late > 48 {
		t.Errorf("an hour after two thirds %d of 64 renew", late)
	}
}

// The outbox is limited, and no number is skipped.
func TestTheOutboxIsFull(t *testing.T) {
	w := newWorld()
	for i := range uint64(2 * machine.MaxOutbox) {
		w.step(machine.Offered{Assignment: assignment(i + 1)})
	}
	if len(w.outbox) != machine.MaxOutbox {
		t.Errorf("%d reports", len(w.outbox))
	}
	newest := w.outbox[machine.MaxOutbox]
	if newest.Status.Generation != 2*machine.MaxOutbox || !strings.Contains(newest.Event.Text, "were dropped") {
		t.Errorf("%+v", newest)
	}
	w.all = []fleet.Assignment{assignment(2 * machine.MaxOutbox)}
	w.heal(3 * machine.MaxOutbox)
	if len(w.wrong) > 0 || len(w.heard) < machine.MaxOutbox {
		t.Errorf("%d heard, %q", len(w.heard), w.wrong)
	}
}
