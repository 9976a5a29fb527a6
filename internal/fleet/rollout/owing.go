package rollout

import "slices"

// owing decides which parts are owed to targets in one Decide.
type owing struct{ *turn }

// end notes the parts that are not owed any more: the targets have the part, or do not want it.
func (t owing) end() {
	over := map[string][]ID{}
	for _, id := range sorted(t.s.owed) {
		target, ok := t.w.Targets[id]
		for part := range t.s.owed[id] {
			if !ok || !target.New && !slices.Contains(target.Missing, part) {
				over[part] = append(over[part], id)
			}
		}
	}
	t.noteAll(NotOwed, over, "")
}

// become notes the parts that targets get because they joined, and not because of a commit.
func (t owing) become() {
	labels, joined := map[string][]ID{}, map[string][]ID{}
	for _, id := range t.targets {
		target := t.w.Targets[id]
		for _, part := range target.Ordered {
			if t.orders(id, target, part) {
				labels[part] = append(labels[part], id)
			}
		}
		for _, c := range target.Wants {
			if target.New && c.Digest != "" && !t.s.IsOwed(id, c.Part) && t.isLate(id, target, c) {
				joined[c.Part] = append(joined[c.Part], id)
			}
		}
	}
	t.noteAll(Owed, labels, "their labels changed")
	t.noteAll(Owed, joined, "they joined during its rollout")
}

// isLate reports whether a new target will not have a part in its first assignment, and belongs to no rollout of it:
// the part depends on other targets, or the rollout began its last wave before.
func (t owing) isLate(id ID, target Target, c Change) bool {
	return target.depends(c) != "" || !slices.ContainsFunc(t.s.Open(), func(r *Rollout) bool {
		return r.has(c) && r.takesPart(id)
	}) && t.waits(id, target, c)
}

// orders reports whether the new labels of a target are the only reason why it lacks a part. If in doubt, a commit is
// the reason, and the part waits for a rollout.
func (t owing) orders(id ID, target Target, part string) bool {
	if t.s.IsOwed(id, part) {
		return false
	}
	for _, r := range t.s.Open() {
		if r.part(part) && (r.takesPart(id) || r.Plan.Lane == target.Lane && r.adds(part)) {
			return false
		}
	}
	return !slices.ContainsFunc(target.Wants, func(c Change) bool {
		if slices.Contains(target.Missing, c.Part) {
			return c.Part == part && c.Adds && t.s.HeldBy(target.Lane, c) != ""
		}
		return c.Digest != "" && t.isNew(id, target, c)
	})
}

// left notes the stable parts that members of a completed rollout did not get, for example because they had no contact.
func (t owing) left(r *Rollout, unproved []Change) {
	all := map[string][]ID{}
	for _, id := range t.ids(r) {
		m, target := r.Members[id], t.w.Targets[id]
		if m.State == MemberLeft {
			continue
		}
		for _, c := range target.Wants {
			if slices.Contains(target.Missing, c.Part) && r.has(c) && !slices.Contains(unproved, c) &&
				!t.s.IsOwed(id, c.Part) {
				all[c.Part] = append(all[c.Part], id)
			}
		}
	}
	t.noteAll(Owed, all, "their rollout is complete")
}

// noteAll adds events for targets by part.
func (t owing) noteAll(kind Kind, parts map[string][]ID, why string) {
	for _, part := range sortedLanes(parts) {
		for ids := range slices.Chunk(parts[part], PieceSize) {
			t.note(Event{Kind: kind, Part: part, Targets: ids, Why: why})
		}
	}
}
