package rollout

import "slices"

// awayAfter is the time in seconds without contact after which a target is away.
const awayAfter = 300

// Away reports whether a target had no contact for a long time when a hub decided last. A hub that begins to lead does
// not wait for it.
func (s *State) Away(id ID) bool { return s.away[id] }

// absent notes which targets are away, so that the next hub that leads knows it.
func (t *turn) absent() {
	for _, id := range t.targets {
		target := t.w.Targets[id]
		switch {
		case target.Online && t.s.away[id]:
			t.add(&Rollout{}, Event{Kind: Back, Target: id})
		case target.Contact > 0 && !t.s.away[id] && t.w.silentFor(target, 0, t.now) >= awayAfter:
			t.add(&Rollout{}, Event{Kind: Away, Target: id})
		}
	}
	for _, id := range sorted(t.s.away) {
		if _, ok := t.w.Targets[id]; !ok {
			t.add(&Rollout{}, Event{Kind: Back, Target: id, Why: "it is not an active target any more"})
		}
	}
}

// withAway sets the targets of a snapshot that are away.
func (s *State) withAway(ids []ID) {
	for _, id := range ids {
		s.away[id] = true
	}
}

// awayIDs returns the targets that are away, sorted; nil means none.
func (s *State) awayIDs() []ID { return slices.Clip(sorted(s.away)) }
