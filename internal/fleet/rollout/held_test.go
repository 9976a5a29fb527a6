package rollout_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// held checks that all views of held content agree: the list of rollouts, the reason of a target, and the targets that
// lack it.
func (f *fleet) held(w rollout.World) {
	lack := f.s.Lacking(w)
	for _, r := range f.s.All() {
		if f.s.Holds(r) != (len(lack[r.ID]) > 0) && r.Phase.Final() {
			f.tell("%s holds content: %t, and targets lack it: %v", r.ID, f.s.Holds(r), lack[r.ID])
		}
	}
	for id, target := range w.Targets {
		for _, c := range target.Wants {
			by := f.s.HeldBy(target.Lane, c)
			_, why := f.s.Allowed(id, target.Lane, c)
			says := why == "held since the rollout "+by+" ended"
			if says != (by != "") && !strings.Contains(why, "skipped") || says && !slices.Contains(lack[by], id) {
				f.tell("%s: %q, and %v is held by %q", id, why, c, by)
			}
			if d, _ := f.s.Stable(target.Lane, c.Part); by != "" && c.Digest != "" && !c.Adds && d == c.Digest {
				f.tell("%v is stable, and held by %s", c, by)
			}
		}
	}
}

// TestHeldUntilReplaced: content is held while a target lacks it, also if a later commit restores it.
func TestHeldUntilReplaced(t *testing.T) {
	f := newFleet(t, 3, rollout.Careful())
	steady := func() bool { return len(f.s.Open()) == 0 && f.now > 1000 }
	f.until(t, "the first content", steady)
	f.head["web"], f.bad["w2"] = "w2", true
	f.step(1)
	f.until(t, "the rollback", steady)
	r := f.s.All()[0]
	if f.step(1); !f.s.Holds(r) {
		t.Errorf("nothing is held: %s", f.text())
	}
	f.head["web"] = "w3"
	if f.step(1); f.s.Holds(r) || f.s.HoldsAny() {
		t.Error("replaced content is shown as held")
	}
	f.until(t, "the correction", steady)
	f.restart()
	r = f.s.Rollouts[r.ID]
	if f.step(1); f.s.Holds(r) {
		t.Error("replaced content is shown as held by another hub")
	}
	f.head["web"] = "w2"
	if f.step(1); !f.s.Holds(r) || len(f.s.Open()) > 0 {
		t.Errorf("the content that failed is rolled out again: %s", f.text())
	}
	f.head["web"] = "w3"
	f.step(1)
	if _, err := f.s.Order(rollout.Command{Action: rollout.ToRelease, Rollout: r.ID, By: "jane"}, f.now); err != nil {
		t.Errorf("content that no target lacks cannot be released: %v", err)
	}
}

// TestLacking: of three targets, two of one lane lack held content.
func TestLacking(t *testing.T) {
	s := rollout.NewState()
	c := rollout.Change{Part: "top", Digest: "d"}
	s.Fold(rollout.Event{Rollout: "r1", Kind: rollout.Created, Created: &rollout.Plan{Lane: "main web",
		Changes: []rollout.Change{c}}})
	s.Fold(rollout.Event{Rollout: "r1", Kind: rollout.Ended, Phase: rollout.Aborted})
	want := map[string][]rollout.ID{"r1": {"t1", "t2"}}
	if got := s.Lacking(rollout.World{Targets: map[rollout.ID]rollout.Target{
		"t1": {Lane: "main web", Wants: []rollout.Change{{Part: "x"}, c}},
		"t2": {Lane: "main web", Wants: []rollout.Change{c}},
		"t3": {Lane: "main db", Wants: []rollout.Change{c}}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
