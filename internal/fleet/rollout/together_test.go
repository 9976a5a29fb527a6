package rollout_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestDifferentContentOfTheSameParts: each of two targets wants a part that waits on it, and that is new for the other
// one. They get separate rollouts, and a decision ends.
func TestDifferentContentOfTheSameParts(t *testing.T) {
	w := rollout.World{Has: func(rollout.ID, string) string { return "old" },
		Strategy: func(string, []rollout.Change) rollout.Strategy { return rollout.Careful() },
		Cause:    func(string, []rollout.Change) string { return "a commit" }, Targets: map[rollout.ID]rollout.Target{
			"a": {Lane: "main", Online: true, Waits: map[string]string{"db": "it waits"},
				Wants: []rollout.Change{{Part: "db", Digest: "a"}, {Part: "web", Digest: "a"}}},
			"b": {Lane: "main", Online: true, Waits: map[string]string{"web": "it waits"},
				Wants: []rollout.Change{{Part: "db", Digest: "b"}, {Part: "web", Digest: "b"}}},
		}}
	s := rollout.NewState()
	s.Decide(w, 1000)
	got := ""
	for _, r := range s.Open() {
		for id := range r.Members {
			got += fmt.Sprint(id, r.Plan.Changes)
		}
	}
	if len(s.All()) != 2 || got != "a[{web a false}]b[{db b false}]" {
		t.Errorf("%d rollouts: %s", len(s.All()), got)
	}
	if again := s.Decide(w, 1000); len(again) > 0 {
		t.Errorf("decided again: %v", again)
	}
}

// TestStableContentOfTheSamePart: one target wants the stable content of a part, and another one its new content. They
// get separate rollouts, because a rollout of both parts would not have the content of the first target.
func TestStableContentOfTheSamePart(t *testing.T) {
	for _, names := range [][]rollout.ID{{"a", "b"}, {"b", "a"}} {
		w := newWave(rollout.Careful())
		w.fold(rollout.Event{Kind: rollout.Ended, Phase: rollout.Completed})
		stable, web := rollout.Change{Part: "web", Digest: "w2"}, rollout.Change{Part: "web", Digest: "w3"}
		db := rollout.Change{Part: "db", Digest: "d1"}
		w.w.Targets[names[0]] = rollout.Target{Lane: "main", Online: true, Wants: []rollout.Change{db, stable}}
		w.w.Targets[names[1]] = rollout.Target{Lane: "main", Online: true, Wants: []rollout.Change{web}}
		w.decide(start)
		got := ""
		for _, r := range w.s.Open() {
			for id := range r.Members {
				got += fmt.Sprint(id, r.Plan.Changes)
			}
		}
		want := map[bool]string{true: "a[{db d1 false}]b[{web w3 false}]", false: "a[{web w3 false}]b[{db d1 false}]"}
		if got != want[names[0] == "a"] {
			t.Errorf("%v: %s", names, got)
		}
	}
}
