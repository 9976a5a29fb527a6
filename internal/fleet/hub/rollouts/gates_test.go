package rollouts

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// gatedLog returns a log with an active rollout r1, whose first wave of t1 has an approval and a metric, and whose
// second wave has an approval. more events follow.
func gatedLog(t *testing.T, more ...rollout.Event) *Log {
	t.Helper()
	l := hubOf(t, bustest.NewStore())
	if err := l.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.end()
	board := rollout.Gate{Name: "board", Type: rollout.ApprovalGate, Need: 1, NotAuthor: true, Timeout: 100}
	load := rollout.Gate{Name: "load", Type: rollout.MetricGate, URL: "https://metrics", Count: 2, Interval: 10,
		FailureLimit: 1, ErrorLimit: 1, DryRun: true}
	all := []rollout.Event{{Kind: rollout.Created, Created: &rollout.Plan{Lane: "main short", Git: "Ann",
		Cause:   "commit 1",
		Changes: []rollout.Change{{Part: "top", Digest: "d"}}, Strategy: shortDeclared(t), Waves: []rollout.Wave{
			{Name: "first", Members: []rollout.ID{"t1"}, Gates: []rollout.Gate{board, load}},
			{Name: "rest", Members: []rollout.ID{"t2"}, Gates: []rollout.Gate{board}}}}},
		{Kind: rollout.Granted, Target: "t1"}, {Kind: rollout.Ready, Target: "t1"}}
	all = append(all, more...)
	for i := range all {
		all[i].Rollout = "r1"
		all[i].At = max(all[i].At, 1)
		l.state.Fold(all[i])
	}
	if err := l.store(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
	l.up.Store(1)
	return l
}

// shownGates returns the gates that the service shows.
func shownGates(t *testing.T, l *Log) []document.RolloutGate {
	t.Helper()
	s, _ := serviceOf(t, l)
	d, err := s.Rollout(t.Context(), "r1")
	if err != nil || len(d.Rollout.Gates) != 3 {
		t.Fatalf("%+v, %v", d.Rollout.Gates, err)
	}
	return d.Rollout.Gates
}

var (
	settled = rollout.Event{Kind: rollout.Settled, At: 20}
	next    = rollout.Event{Kind: rollout.Advanced, At: 60, Wave: 1}
)

func approvedBy(by string) rollout.Event {
	return rollout.Event{Kind: rollout.Approved, At: 30, Gate: "board", By: by, Period: 1}
}

func measured(v rollout.Verdict) rollout.Event {
	return rollout.Event{Kind: rollout.Measured, At: 40, Gate: "load", Verdict: v, Why: "it is 7", Period: 1}
}

// TestGateStates: the states of the approval and the metric of the first wave, and of the approval of the second wave.
func TestGateStates(t *testing.T) {
	pass, fail, unclear := measured(rollout.Pass), measured(rollout.Fail), measured(rollout.Unclear)
	late := rollout.Event{Kind: rollout.Paused, At: 120, Gate: "board", Period: 1, Why: "late"}
	rejected := rollout.Event{Kind: rollout.Rejected, At: 30, Gate: "board", By: "bob", Period: 1}
	for name, c := range map[string]struct {
		events []rollout.Event
		want   string
	}{
		"before the bake time": {nil, "pending pending pending"},
		"no verdict yet":       {[]rollout.Event{settled}, "waits waits pending"},
		"one approval of two":  {[]rollout.Event{settled, approvedBy("bob")}, "waits waits pending"},
		"two approvals":        {[]rollout.Event{settled, approvedBy("bob"), approvedBy("eve")}, "passed waits pending"},
		"late":                 {[]rollout.Event{settled, late}, "late waits pending"},
		"late, and approved": {[]rollout.Event{settled, late, approvedBy("bob"), approvedBy("eve")},
			"passed waits pending"},
		"rejected":          {[]rollout.Event{settled, rejected}, "failed waits pending"},
		"late and rejected": {[]rollout.Event{settled, late, rejected}, "late waits pending"},
		"one pass of two":   {[]rollout.Event{settled, pass}, "waits waits pending"},
		"two passes":        {[]rollout.Event{settled, pass, pass}, "waits passed pending"},
		"two failures":      {[]rollout.Event{settled, fail, fail}, "waits failed pending"},
		"no result":         {[]rollout.Event{settled, unclear}, "waits error pending"},
		"a result again":    {[]rollout.Event{settled, unclear, pass}, "waits waits pending"},
		"too few values":    {[]rollout.Event{settled, measured(rollout.None)}, "waits none pending"},
		"the next wave": {[]rollout.Event{settled, approvedBy("bob"), approvedBy("eve"), pass, pass, next},
			"passed passed pending"},
		"after a dry run": {[]rollout.Event{settled, approvedBy("bob"), approvedBy("eve"), unclear, next},
			"passed ended pending"},
		"the next bake time": {[]rollout.Event{settled, approvedBy("bob"), approvedBy("eve"), pass, next,
			{Kind: rollout.Settled, At: 70}}, "passed ended waits"},
	} {
		var got []string
		for _, g := range shownGates(t, gatedLog(t, c.events...)) {
			got = append(got, g.State)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}

// TestGateDocuments: an approval shows its users and deadline, and a metric its verdicts and the last evidence.
func TestGateDocuments(t *testing.T) {
	all := shownGates(t, gatedLog(t, settled, approvedBy("bob"), measured(rollout.Fail), measured(rollout.Pass),
		measured(rollout.Unclear)))
	board, load := all[0], all[1]
	if board.Wave != "first" || board.Name != "board" || board.Type != "approval" || board.Passes != 1 ||
		board.Need != 2 ||
		!slices.Equal(board.Approvals, []document.GateApproval{{By: "bob", At: 30}}) || board.Deadline != 120 {
		t.Errorf("%+v", board)
	}
	want := document.RolloutGate{Wave: "first", Name: "load", Type: "metric", DryRun: true, State: "error", Passes: 1,
		Need: 2, Failures: 1, Errors: 1, Why: "it is 7", At: 40}
	if !reflect.DeepEqual(load, want) {
		t.Errorf("%+v, want %+v", load, want)
	}
	if later := all[2]; later.Wave != "rest" || later.Deadline != 0 || later.Need != 2 {
		t.Errorf("%+v", later)
	}
}

// TestDue: the hub obtains a verdict at the interval of a gate, in the bake time of its wave.
func TestDue(t *testing.T) {
	for _, c := range []struct {
		events []rollout.Event
		now    int64
		want   int
	}{{nil, 50, 0}, {[]rollout.Event{settled}, 50, 1}, {[]rollout.Event{settled, measured(rollout.Pass)}, 49, 0},
		{[]rollout.Event{settled, measured(rollout.Pass)}, 50, 1}} {
		if got := gatedLog(t, c.events...).Due(c.now); len(got) != c.want || c.want > 0 && got[0].Gate.Name != "load" {
			t.Errorf("%v at %d: %+v", c.events, c.now, got)
		}
	}
}

// TestApprovalAlarm: a rollout that waits for users is an alarm, until they approve.
func TestApprovalAlarm(t *testing.T) {
	paused := rollout.Event{Kind: rollout.Paused, By: "ann", Period: 1}
	for name, c := range map[string]struct {
		events []rollout.Event
		want   string
	}{
		"before the bake time": {nil, ""},
		"one approval of two": {[]rollout.Event{settled, approvedBy("bob")}, "The rollout r1 waits for approval (board): " +
			"commit 1. See fettle rollout show r1, then run fettle rollout approve r1, or reject it."},
		"two approvals":     {[]rollout.Event{settled, approvedBy("bob"), approvedBy("eve")}, ""},
		"an operator waits": {[]rollout.Event{settled, paused}, ""},
	} {
		turn, err := gatedLog(t, c.events...).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, a := range turn.Alarms() {
			got += a.Text
		}
		if turn.End(); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
