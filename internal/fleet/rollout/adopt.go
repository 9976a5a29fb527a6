package rollout

import "slices"

// adopt makes content stable that a healthy target of the lane has already, for parts that no rollout has delivered
// yet: a fleet may have had its content before it used rollouts. Otherwise the first target that is added later, and
// fails for its own reasons, would get the content held.
func (t *turn) adopt(lane string, members []ID) {
	var all []Change
	seen := map[Change]bool{}
	for _, id := range members {
		for _, c := range t.w.Targets[id].Wants {
			if seen[c] || c.Digest == "" || t.s.delivered(lane, c.Part) {
				continue
			}
			if seen[c] = true; t.proved(lane, c) {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	s := t.strategy(lane, all)
	r := &Rollout{ID: name(t.s.next)}
	t.add(r, Event{Kind: Created, Created: &Plan{Lane: lane, Cause: "targets had it before", Changes: sortedChanges(all),
		Strategy: s}})
	t.add(r, Event{Kind: Ended, Phase: Completed})
}

// delivered reports whether a rollout delivered a part in a lane, or tried to.
func (s *State) delivered(lane, part string) bool {
	if _, known := s.Stable(lane, part); known {
		return true
	}
	for _, r := range s.Rollouts {
		if r.Plan.Lane == lane && r.part(part) {
			return true
		}
	}
	return false
}

// proved reports whether a healthy target of the lane has a change. The rollout of foreign content may not
// have been complete, unless all targets with an assignment have this content.
func (t *turn) proved(lane string, c Change) bool {
	for _, id := range t.targets {
		target := t.w.Targets[id]
		if target.Lane == lane && target.Health == Healthy && t.w.Has(id, c.Part) == c.Digest &&
			(!target.isForeign(c.Part) || !isLacked(t.w, lane, t.wanting[c])) {
			return true
		}
	}
	return false
}

// isLacked reports whether one of some targets is in a lane and has an assignment.
func isLacked(w World, lane string, ids []ID) bool {
	return slices.ContainsFunc(ids, func(id ID) bool {
		target := w.Targets[id]
		return target.Lane == lane && !target.New
	})
}
