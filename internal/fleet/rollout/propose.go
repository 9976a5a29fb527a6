package rollout

import (
	"slices"
)

// propose creates a rollout for each lane with changes that no rollout has, if a target can be changed now.
func (t *turn) propose() {
	lanes := t.proposals()
	for _, lane := range sortedLanes(lanes) {
		t.adopt(lane, lanes[lane])
	}
	t.mark()
	lanes = t.proposals()
	for _, lane := range sortedLanes(lanes) {
		if t.w.Eager || slices.ContainsFunc(lanes[lane], t.changeable) {
			t.create(lane, lanes[lane])
		}
	}
}

// Waits reports whether a rollout will begin as soon as one of its targets can be changed. Call it after Decide.
func (s *State) Waits(w World) bool { return len(newTurn(s, w, 0).proposals()) > 0 }

// proposals returns the targets with changes that no rollout has, by lane.
func (t *turn) proposals() map[string][]ID {
	lanes := map[string][]ID{}
	t.w.postponed = postponed(t.s, t.w)
	for _, id := range t.targets {
		if target := t.w.Targets[id]; slices.ContainsFunc(target.Wants,
			func(c Change) bool { return t.isNew(id, target, c) }) {
			lanes[target.Lane] = append(lanes[target.Lane], id)
		}
	}
	return lanes
}

// isNew reports whether a change of a target needs a rollout: it is not stable, not held, and not part of a
// rollout to which the target belongs. A change that depends on targets that are not ready waits. So does a change that
// requires another change, unless this change is proposed, too, or the target may have it now.
func (t *turn) isNew(id ID, target Target, c Change) bool {
	proposed := func(c Change) bool {
		if target.depends(c) != "" || t.w.postponed[target.Lane][c] != "" {
			return false
		}
		if t.s.free(target.Lane, c) || t.s.HeldBy(target.Lane, c) != "" || t.s.skipped.by(id, c) != "" {
			return false
		}
		for _, r := range t.s.Open() {
			if r.has(c) && r.takesPart(id) {
				return false
			}
		}
		return !t.waits(id, target, c)
	}
	return proposed(c) && target.lacks(c, func(other Change) bool {
		return requiring{t.s, id, target}.may(other) || proposed(other)
	}) == ""
}

// waits reports whether an open rollout has the change, and began its last wave before the target needed
// it. The target then waits for the end of this rollout.
func (t *turn) waits(id ID, target Target, c Change) bool {
	return slices.ContainsFunc(t.s.Open(), func(r *Rollout) bool {
		return r.Plan.Lane == target.Lane && r.has(c) && r.Phase != RollingBack && !t.replaced(r, target)
	})
}

func (t *turn) create(lane string, members []ID) {
	all, members := together(t, members)
	id, s := name(t.s.next), t.strategy(lane, all)
	p := &Plan{Lane: lane, Cause: t.w.Cause(lane, all), Changes: all, Strategy: s, Waves: s.Distribute(members, id)}
	if t.w.Author != nil {
		p.Git, p.Author = t.w.Author(lane)
	}
	t.add(&Rollout{ID: id}, Event{Kind: Created, Created: p})
}

// together returns the changes of a new rollout, and the targets that can be its members together. If the desired
// content of a target differs from the content of the rollout, membership removes the target. So such targets get a
// rollout of their own. Otherwise all members could leave at once, and Decide would create the same rollout again.
func together(t *turn, ids []ID) (all []Change, members []ID) {
	has, parts, others := map[Change]bool{}, map[string]bool{}, map[string][]Change{}
	for _, id := range ids {
		target := t.w.Targets[id]
		added := slices.DeleteFunc(slices.Clone(target.Wants), func(c Change) bool { return !t.isNew(id, target, c) })
		in := func(c Change) bool { return has[c] || slices.Contains(added, c) }
		brings := func(part string) bool {
			return parts[part] || slices.ContainsFunc(added, func(c Change) bool { return c.Part == part })
		}
		differs := func(c Change) bool { return brings(c.Part) && !in(c) }
		if slices.ContainsFunc(target.Wants, differs) ||
			slices.ContainsFunc(added, func(c Change) bool { return slices.ContainsFunc(others[c.Part], differs) }) {
			continue
		}
		members = append(members, id)
		for _, c := range added {
			has[c], parts[c.Part] = true, true
		}
		for _, c := range target.Wants {
			if !slices.Contains(others[c.Part], c) {
				others[c.Part] = append(others[c.Part], c)
			}
		}
		all = append(all, added...)
	}
	return sortedChanges(all), members
}
