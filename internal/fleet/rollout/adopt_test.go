package rollout_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestAdoptedOnce: the content of a healthy target is adopted only for a part that no rollout of its lane has changed.
// The content of a rollout that was aborted is not adopted: it is held.
func TestAdoptedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		lane, part, digest string
		want               bool
	}{
		"of the aborted rollout": {"main", "web", "w2", false},
		"another part":           {"main", "db", "d1", true},
		"another lane":           {"next", "web", "w2", true},
	} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"})
		w.granted("a0", rollout.Ready)
		w.fold(rollout.Event{Kind: rollout.Ended, Phase: rollout.Aborted})
		w.w.Has = func(id rollout.ID, part string) string {
			if id == "has" && part == c.part {
				return c.digest
			}
			return ""
		}
		w.w.Targets["has"] = rollout.Target{Lane: c.lane, Health: rollout.Healthy, Online: true}
		w.w.Targets["lacks"] = rollout.Target{Lane: c.lane, Online: true,
			Wants: []rollout.Change{{Part: c.part, Digest: c.digest}, {Part: "other", Digest: "o1"}}}
		log := w.decide(start + 1)
		if got, ok := w.s.Stable(c.lane, c.part); ok != c.want || ok && got != c.digest {
			t.Errorf("%s: the stable content is %q: %v", name, got, log)
		}
	}
}

// TestAdoptedForeign: foreign content is adopted if no other target of the lane with an assignment lacks it: its
// rollout was complete then.
func TestAdoptedForeign(t *testing.T) {
	c := rollout.Change{Part: "web", Digest: "w2"}
	for name, other := range map[string]struct {
		lane string
		new  bool
		want bool
	}{
		"of the lane":         {"main", false, false},
		"new in the lane":     {"main", true, true},
		"of another lane":     {"next", false, true},
		"new in another lane": {"next", true, true},
	} {
		w := newWave(rollout.Careful())
		w.s = rollout.NewState()
		w.w.Has = func(id rollout.ID, _ string) string { return map[rollout.ID]string{"has": "w2"}[id] }
		w.w.Targets["has"] = rollout.Target{Lane: "main", Health: rollout.Healthy, Online: true, Foreign: []string{"web"}}
		w.w.Targets["new"] = rollout.Target{Lane: "main", New: true, Online: true, Wants: []rollout.Change{c}}
		w.w.Targets["other"] = rollout.Target{Lane: other.lane, New: other.new, Online: true, Wants: []rollout.Change{c}}
		log := w.decide(start + 1)
		if _, ok := w.s.Stable("main", "web"); ok != other.want {
			t.Errorf("with a target %s that lacks the content, it is adopted: %t, %v", name, ok, log)
		}
	}
}

// TestAdoptedInItsLane: only a healthy target of the lane proves content.
func TestAdoptedInItsLane(t *testing.T) {
	for name, c := range map[string]struct {
		lane   string
		health rollout.Health
		has    string
		want   bool
	}{
		"healthy":      {"main", rollout.Healthy, "w2", true},
		"failed":       {"main", rollout.Broken, "w2", false},
		"other":        {"main", rollout.Healthy, "w3", false},
		"another lane": {"next", rollout.Healthy, "w2", false},
	} {
		w := newWave(rollout.Careful())
		w.s = rollout.NewState()
		w.w.Has = func(id rollout.ID, _ string) string { return map[rollout.ID]string{"has": c.has}[id] }
		w.w.Targets["has"] = rollout.Target{Lane: c.lane, Health: c.health, Online: true}
		w.w.Targets["new"] = rollout.Target{Lane: "main", New: true, Online: true,
			Wants: []rollout.Change{{Part: "web", Digest: "w2"}}}
		log := w.decide(start + 1)
		if _, ok := w.s.Stable("main", "web"); ok != c.want {
			t.Errorf("%s: the content is adopted: %t, %v", name, ok, log)
		}
	}
}

// TestRemovalIsNotAdopted: a target without a part does not prove the removal of the part for others.
func TestRemovalIsNotAdopted(t *testing.T) {
	w := newWave(rollout.Careful())
	w.s = rollout.NewState()
	w.w.Has = func(id rollout.ID, _ string) string { return map[rollout.ID]string{"lacks": "w1"}[id] }
	w.w.Targets["has"] = rollout.Target{Lane: "main", Health: rollout.Healthy, Online: true}
	w.w.Targets["lacks"] = rollout.Target{Lane: "main", Online: true, Wants: []rollout.Change{{Part: "web"}}}
	if got := w.decide(start + 1); !slices.Equal(got, []string{"created", "grantedlacks"}) {
		t.Errorf("%v", got)
	}
}
