package rollouts

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// serviceOf returns a service with the registry of two targets, and its events.
func serviceOf(t *testing.T, l *Log) (Service, *bustest.Log) {
	t.Helper()
	now := func() time.Time { return time.Unix(500, 0) }
	targets := records.NewMirror(bustest.NewStore(), "", func(b []byte) (v fleet.Target, err error) {
		return v, json.Unmarshal(b, &v)
	})
	for id, name := range map[string]string{"t2": "web1", "t3": "web0"} {
		if err := targets.Put(t.Context(), id, fleet.Target{Name: name}, 0); err != nil {
			t.Fatal(err)
		}
	}
	log := bustest.NewLog()
	return Service{Log: l, Now: now, Targets: targets, Events: events.Recorder{Hub: "hub1", Log: log, Now: now}}, log
}

// TestService shows a rollout with 2 waves and 4 targets, of which t4 is not in the registry.
func TestService(t *testing.T) {
	l := hubOf(t, bustest.NewStore())
	if err := l.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := []rollout.Event{{Rollout: "r1", At: 7, Kind: rollout.Created, Created: &rollout.Plan{Lane: "main short",
		Cause: "commit 1", Changes: []rollout.Change{{Part: "top", Digest: "d1"}, {Part: "web", Digest: "d2"},
			{Part: "web", Digest: "d3"}}, Strategy: shortDeclared(t), Waves: []rollout.Wave{
			{Name: "first", MaxUnavailable: rollout.Amount{Number: 1}, Bake: 60, Members: []rollout.ID{"t2", "t4", "t3"}},
			{Name: "rest", MaxUnavailable: rollout.Amount{Number: 50, Percent: true}, Members: []rollout.ID{"t1"}}}}},
		{Rollout: "r1", At: 8, Kind: rollout.Granted, Target: "t2"},
		{Rollout: "r1", At: 9, Kind: rollout.Ready, Target: "t2"},
		{Rollout: "r1", At: 10, Kind: rollout.Granted, Target: "t3"},
		{Rollout: "r1", At: 11, Kind: rollout.Failed, Target: "t3", Why: "a check failed"}}
	if err := l.store(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
	l.end()
	s, _ := serviceOf(t, l)
	got, err := s.Rollout(t.Context(), "r1")
	want := document.RolloutDetail{Rollout: document.Rollout{ID: "r1", Branch: "main", Strategy: "short",
		Cause: "commit 1", Phase: "active", Created: 7, Waves: []document.RolloutWave{
			{Name: "first", Targets: 3, Ready: 1, MaxUnavailable: 1, Bake: 60}, {Name: "rest", Targets: 1, MaxUnavailable: 1}},
		Parts: []string{"top", "web"}, Targets: map[string]int{"ready": 1, "failed": 1, "pending": 2}, WorstCase: 1},
		Targets: []document.RolloutTarget{{ID: "t4", Wave: "first", State: "pending"},
			{ID: "t3", Name: "web0", Wave: "first", State: "failed", Granted: 10, Why: "a check failed"},
			{ID: "t2", Name: "web1", Wave: "first", State: "ready", Granted: 8}, {ID: "t1", Wave: "rest", State: "pending"}},
		Course: &document.RolloutCourse{Targets: 4, Span: 1, Points: []document.RolloutPoint{{At: 7},
			{At: 8, Granted: 1}, {At: 9, Granted: 1, Ready: 1}, {At: 10, Granted: 2, Ready: 1},
			{At: 11, Granted: 2, Ready: 1, Failed: 1}}, Marks: []document.RolloutMark{}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if list, err := s.Rollouts(t.Context()); err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], want.Rollout) {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := s.Rollout(t.Context(), "r2"); !errors.Is(err, rollout.ErrNoRollout) {
		t.Errorf("%v", err)
	}
}

// TestServiceOrders: a command is in the rollout and in the events, with the operator; a refused command is not.
func TestServiceOrders(t *testing.T) {
	l := hubOf(t, bustest.NewStore())
	begun(t, l, "r1", nil)
	s, log := serviceOf(t, l)
	c := rollout.Command{Action: rollout.ToAbort, Rollout: "r1", By: "jane", Why: "a test"}
	if err := s.OrderRollout(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.OrderRollout(t.Context(), c); err == nil {
		t.Error("the second abort is no error")
	}
	var got []string
	for _, text := range log.Records() {
		var e fleet.HubEvent
		if err := json.Unmarshal(text, &e); err != nil || e.Kind != fleet.RolloutChanged {
			t.Errorf("%s: %v", text, err)
		}
		got = append(got, e.By+": "+e.Text)
	}
	want := []string{"jane: rollout r1 aborted: a test", "jane: rollout r1 ended: aborted, because a test"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	d, err := s.Rollout(t.Context(), "r1")
	if err != nil || !d.Rollout.Held || d.Rollout.Phase != "aborted" || d.Rollout.Why != "a test" {
		t.Errorf("%+v, %v", d.Rollout, err)
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		e    rollout.Event
		want string
	}{
		{rollout.Event{Kind: rollout.Created, Created: &rollout.Plan{Cause: "commit 1", Strategy: rollout.Careful()}},
			"rollout r1 began with the strategy careful: commit 1"},
		{rollout.Event{Kind: rollout.Advanced, Wave: 1}, "rollout r1 wave 2 began"},
		{rollout.Event{Kind: rollout.Paused, Why: "a test"}, "rollout r1 paused: a test"},
		{rollout.Event{Kind: rollout.Resumed}, "rollout r1 resumed"},
		{rollout.Event{Kind: rollout.Promoted}, "rollout r1 continues without the rest of the bake time of its wave"},
		{rollout.Event{Kind: rollout.Breached, Reaction: rollout.Pause, Why: "a limit"}, "rollout r1 paused: a limit"},
		{rollout.Event{Kind: rollout.Breached, Reaction: rollout.Abort, Why: "a test"}, "rollout r1 aborted: a test"},
		{rollout.Event{Kind: rollout.Breached, Reaction: rollout.Rollback, Why: "a test"}, "rollout r1 rolls back: a test"},
		{rollout.Event{Kind: rollout.Ended, Phase: rollout.Completed}, "rollout r1 ended: completed"},
		{rollout.Event{Kind: rollout.Ended, Phase: rollout.Aborted, Why: "a test"},
			"rollout r1 ended: aborted, because a test"},
		{rollout.Event{Kind: rollout.Released}, "rollout r1 released its content: it may be rolled out again"},
		{rollout.Event{Kind: rollout.Unwanted}, "rollout r1 holds nothing any more: no target lacks its content"},
		{rollout.Event{Kind: rollout.Wanted}, "rollout r1 holds content again: a target lacks it"},
		{rollout.Event{Kind: rollout.Approved, Gate: "board"}, "rollout r1 got an approval at its gate board"},
		{rollout.Event{Kind: rollout.Approved, Gate: "board", Why: "fine"},
			"rollout r1 got an approval at its gate board: fine"},
		{rollout.Event{Kind: rollout.Expired, Gate: "board"},
			"rollout r1 no longer has an approval at its gate board, because it is too old"},
		{rollout.Event{Kind: rollout.Rejected, Gate: "board", Why: "too early"},
			"rollout r1 was rejected at its gate board: too early"},
		{rollout.Event{Kind: rollout.Measured, Gate: "load", Verdict: rollout.Fail, Why: "it is 7"},
			"rollout r1 got the verdict fail of its gate load: it is 7"},
		{rollout.Event{Kind: rollout.Moved, Lane: "main slow", Targets: []fleet.TargetID{"a", "b"},
			Why: "an operator said so"},
			"targets with the strategy slow from now on: 2, because an operator said so"},
		{rollout.Event{Kind: rollout.Moved, Lane: "main slow", Targets: []fleet.TargetID{"a"}}, ""},
		{rollout.Event{Kind: rollout.Granted, Target: "t1"}, ""},
	} {
		c.e.Rollout = "r1"
		if got := describe(c.e); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
