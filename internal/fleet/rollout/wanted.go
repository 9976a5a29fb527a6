package rollout

// wanted notes which held content targets lack. During a rollback this is open.
func (t *turn) wanted() {
	if len(t.s.held) == 0 {
		return
	}
	lack := t.s.Lacking(t.w)
	for _, r := range t.s.All() {
		switch wanted := len(lack[r.ID]) > 0 || !r.Phase.Final(); {
		case !t.s.keeps(r) || wanted == !r.Unwanted:
		case wanted:
			t.add(r, Event{Kind: Wanted})
		default:
			t.add(r, Event{Kind: Unwanted})
		}
	}
}

// Lacking returns the targets that want held content, sorted, by the rollout because of which it is held.
func (s *State) Lacking(w World) map[string][]ID {
	out := map[string][]ID{}
	for _, id := range sorted(w.Targets) {
		target := w.Targets[id]
		by := map[string]bool{"": true}
		for _, c := range target.Wants {
			if r := s.HeldBy(target.Lane, c); !by[r] {
				out[r] = append(out[r], id)
				by[r] = true
			}
		}
	}
	return out
}
