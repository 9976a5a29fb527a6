package rollout

import "slices"

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
	if len(s.held) == 0 {
		return out
	}
	for id, target := range w.Targets {
		var by []string
		for _, c := range target.Wants {
			c = s.addition(id, target, c)
			if r := s.HeldBy(target.Lane, c); r != "" && !slices.Contains(by, r) {
				out[r], by = append(out[r], id), append(by, r)
			}
		}
	}
	for _, ids := range out {
		slices.Sort(ids)
	}
	return out
}
