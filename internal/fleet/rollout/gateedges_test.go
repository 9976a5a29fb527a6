package rollout_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// gates gives the first wave of the rollout gates.
func (t *wave) gates(all ...rollout.Gate) *rollout.Rollout {
	r := t.s.Rollouts["r1"]
	r.Plan.Waves[0].Gates = all
	return r
}

// order gives a command for the rollout, and reports whether it is accepted.
func (t *wave) order(c rollout.Command) bool {
	c.Rollout = "r1"
	_, err := t.s.Order(c, start)
	return err == nil
}

func webhook() rollout.Gate {
	return rollout.Gate{Name: "hook", Type: rollout.WebhookGate, Count: 1}
}

// TestJudgedBeforeTheBakeTime: before the wave meets its conditions, only a failure counts.
func TestJudgedBeforeTheBakeTime(t *testing.T) {
	for verdict, want := range map[rollout.Verdict]bool{rollout.Pass: false, rollout.Unclear: false, rollout.Fail: true} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"})
		w.gates(webhook())
		if w.order(rollout.Command{Action: rollout.ToJudge, Verdict: verdict, By: "ann"}) != want {
			t.Errorf("%s is accepted: %t", verdict, !want)
		}
	}
}

// TestReportedVerdicts: the hub does not query a gate without an address: another program reports its verdict.
func TestReportedVerdicts(t *testing.T) {
	for address, want := range map[string]int{"": 0, "http://hook": 1} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"})
		g := webhook()
		g.URL = address
		w.gates(g)
		w.granted("a0", rollout.Ready)
		w.decide(start)
		if got := w.s.Due(start); len(got) != want {
			t.Errorf("with the address %q, the hub queries %d gates", address, len(got))
		}
	}
}

// TestNothingToWaitFor: gates delay nothing before the wave meets its other conditions, during a rollback, after the
// end, and in a rollout without waves.
func TestNothingToWaitFor(t *testing.T) {
	settled := rollout.Event{Kind: rollout.Settled}
	for name, c := range map[string]struct {
		log  []rollout.Event
		want bool
	}{
		"before":    {nil, false},
		"meanwhile": {[]rollout.Event{settled}, true},
		"rollback":  {[]rollout.Event{settled, {Kind: rollout.Breached, Reaction: rollout.Rollback}}, false},
		"after":     {[]rollout.Event{settled, {Kind: rollout.Ended, Phase: rollout.Superseded}}, false},
	} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"})
		r := w.gates(webhook())
		if w.fold(c.log...); (r.Waits() != "") != c.want {
			t.Errorf("%s: the rollout %q", name, r.Waits())
		}
	}
	w := newWave(rollout.Careful())
	if r := w.s.Rollouts["r1"]; r.Waits() != "" || len(r.Unapproved()) > 0 || len(w.s.Due(start)) > 0 {
		t.Errorf("a rollout without waves %q", r.Waits())
	}
}

// TestReasonsAtAGate: a member of the current wave does not wait for its gate, and a member of a later wave does.
func TestReasonsAtAGate(t *testing.T) {
	w := newWave(rollout.Careful(), []rollout.ID{"a0", "a1"}, []rollout.ID{"b0"})
	w.gates(webhook())
	w.granted("a0", rollout.Ready)
	w.fold(rollout.Event{Kind: rollout.Settled})
	for id, want := range map[rollout.ID]string{
		"a1": "the rollout r1 has reached its wave wave 0",
		"b0": "it is in the wave wave 1 of the rollout r1, and the current wave wave 0 waits for the verdict of hook",
	} {
		if _, why := w.s.Allowed(id, "main", rollout.Change{Part: "web", Digest: "w2"}); !strings.HasPrefix(why, want) {
			t.Errorf("%s: %s", id, why)
		}
	}
}

// TestFailuresOfAnEarlierWave: members that failed in an earlier wave do not count for the conditions of the next one.
func TestFailuresOfAnEarlierWave(t *testing.T) {
	s := rollout.Careful()
	s.MaxFailed = rollout.Amount{Number: 1}
	w := newWave(s, []rollout.ID{"a0", "a1"}, []rollout.ID{"b0"})
	w.granted("a0", rollout.Failed)
	w.granted("a1", rollout.Ready)
	w.fold(rollout.Event{Kind: rollout.Advanced, Wave: 1})
	w.granted("b0", rollout.Ready)
	if got := w.decide(start + 1); !slices.Contains(got, "settled") || slices.Contains(got, "paused") {
		t.Errorf("%v", got)
	}
}

// TestReasonOfAMember: a member has the reason of its last event.
func TestReasonOfAMember(t *testing.T) {
	w := newWave(rollout.Careful(), []rollout.ID{"a0"})
	m := w.s.Rollouts["r1"].Members["a0"]
	for _, why := range []string{"a check failed", ""} {
		if w.fold(rollout.Event{Kind: rollout.Failed, Target: "a0", Why: why}); m.Why != why {
			t.Errorf("%q, want %q", m.Why, why)
		}
	}
}

// TestDeadlineInReasons: the reason of a member of a later wave names the first deadline of the gates.
func TestDeadlineInReasons(t *testing.T) {
	none := rollout.Gate{Name: "none", Type: rollout.WebhookGate, Count: 1, DryRun: true}
	soon, late := webhook(), webhook()
	soon.Name, soon.Timeout, late.Name, late.Timeout = "soon", 60, "late", 3600
	for name, c := range map[string]struct {
		gates []rollout.Gate
		want  string
	}{
		"two":               {[]rollout.Gate{soon, late}, "1970-01-01 00:01:01 UTC"},
		"in another order":  {[]rollout.Gate{late, soon}, "1970-01-01 00:01:01 UTC"},
		"none at the end":   {[]rollout.Gate{late, none}, "1970-01-01 01:00:01 UTC"},
		"none at the begin": {[]rollout.Gate{none, late}, "1970-01-01 01:00:01 UTC"},
		"none":              {[]rollout.Gate{none}, ""},
	} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"}, []rollout.ID{"b0"})
		w.gates(c.gates...)
		w.granted("a0", rollout.Ready)
		w.fold(rollout.Event{Kind: rollout.Settled})
		why := w.s.Reason(w.w, "b0", rollout.Change{Part: "web", Digest: "w2"})
		_, at, _ := strings.Cut(why, "; otherwise the rollout pauses at ")
		if at != c.want {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// TestLateGateAfterResume: a gate that was late has its time again after the resumption. Its verdicts stay, except for
// the wait of a webhook.
func TestLateGateAfterResume(t *testing.T) {
	for _, c := range []struct {
		last rollout.Verdict
		late bool
		want rollout.GateState
	}{
		{rollout.Later, true, rollout.GateState{}},
		{rollout.Later, false, rollout.GateState{Last: rollout.Later, At: start}},
		{rollout.Pass, true, rollout.GateState{Last: rollout.Pass, Passes: 1, At: start}},
		{rollout.Pass, false, rollout.GateState{Last: rollout.Pass, Passes: 1, At: start}},
	} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"})
		g := webhook()
		g.Count = 2
		r := w.gates(g)
		w.fold(rollout.Event{Kind: rollout.Settled})
		by := map[bool]string{true: "hook"}[c.late]
		w.fold(rollout.Event{Kind: rollout.Measured, Gate: "hook", Verdict: c.last, Period: r.Period},
			rollout.Event{Kind: rollout.Paused, Gate: by, Period: r.Period})
		if r.GateState(0, "hook").Late != c.late {
			t.Fatalf("the gate is late: %t", !c.late)
		}
		if w.fold(rollout.Event{Kind: rollout.Resumed}); !reflect.DeepEqual(r.GateState(0, "hook"), c.want) {
			t.Errorf("after %s: %+v", c.last, r.GateState(0, "hook"))
		}
	}
}

// TestPauseAtTheDeadline: the rollout pauses at the deadline of a gate, and not before.
func TestPauseAtTheDeadline(t *testing.T) {
	for after, want := range map[int64]bool{59: false, 60: true} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"}, []rollout.ID{"b0"})
		g := webhook()
		g.Timeout = 60
		w.gates(g)
		w.granted("a0", rollout.Ready)
		w.fold(rollout.Event{Kind: rollout.Settled})
		if got := w.decide(start + after); slices.Contains(got, "paused") != want {
			t.Errorf("after %d s: %v", after, got)
		}
	}
}
