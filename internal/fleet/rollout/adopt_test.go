package rollout_test

import (
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
		log := w.decide(1001)
		if got, ok := w.s.Stable(c.lane, c.part); ok != c.want || ok && got != c.digest {
			t.Errorf("%s: the stable content is %q: %v", name, got, log)
		}
	}
}
