package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// advance ends the current wave when all its conditions hold, after its bake time.
func (t *turn) advance(r *Rollout) {
	if !t.isOver(r) {
		if r.Settled > 0 {
			t.add(r, Event{Kind: Unsettled, Wave: r.Wave})
		}
		if why := t.stuck(r); why != "" {
			t.add(r, Event{Kind: Paused, Wave: r.Wave, Why: why})
		}
		return
	}
	if why := r.lacks(); why != "" && !r.accepted {
		if t.deferred(r) || awaitsApproval(t, r, r.Wave) {
			return // a member with contact again, or with an approval, can still meet the conditions
		}
		t.add(r, Event{Kind: Paused, Wave: r.Wave, Why: why})
		return
	}
	if r.Settled == 0 {
		t.add(r, Event{Kind: Settled, Wave: r.Wave})
	}
	if !r.promoted && t.now-t.w.counted(r.Settled, t.now) < r.Plan.Waves[r.Wave].Bake || r.Waits() != "" {
		return
	}
	if r.Wave+1 < len(r.Plan.Waves) {
		t.add(r, Event{Kind: Advanced, Wave: r.Wave + 1})
		return
	}
	if !awaitsApproval(t, r, allWaves) {
		t.complete(r)
	}
}

// isOver reports whether nothing in the current wave can change soon: no member is being applied, and
// the members without the change are out of reach or held for long. Windows that are closed do not let a wave end.
func (t *turn) isOver(r *Rollout) bool {
	for id, m := range r.Members {
		if m.Wave > r.Wave || m.State != MemberPending && m.State != MemberGranted {
			continue
		}
		target := t.w.Targets[id]
		waits := m.State == MemberPending && (target.waitsIn(r) != "" || requiring{t.s, id, target}.in(r) != "")
		held := target.Hold != "" || waits || target.Health == Blocked && m.State == MemberGranted
		switch {
		case m.State == MemberPending && (!target.Online || t.w.unapproved(r, id) != ""):
		case target.Closed:
			return false
		case held && t.timedOut(r, id):
		default:
			return false
		}
	}
	return true
}

// timedOut reports whether the current wave has lasted for its timeout. Time in which the windows of the member are
// closed does not count.
func (t *turn) timedOut(r *Rollout, id ID) bool {
	timeout := r.Plan.Strategy.WaveTimeout
	if t.now-r.Began < timeout || t.w.OpenFor == nil {
		return t.now-r.Began >= timeout
	}
	return t.w.OpenFor(id, r.Began, t.now, timeout) >= timeout
}

// deferred reports whether a member of the current wave waits only for contact, and the wave has not timed out.
func (t *turn) deferred(r *Rollout) bool {
	for id, m := range r.Members {
		if m.Wave == r.Wave && m.State == MemberPending && !t.w.Targets[id].Online && !t.timedOut(r, id) {
			return true
		}
	}
	return false
}

// lacks returns what a wave lacks that is over, or "".
func (r *Rollout) lacks() string {
	s := r.Plan.Strategy
	ready, all := r.count(r.Wave, MemberReady), r.size(r.Wave)+r.count(r.Wave, MemberSkipped)
	granted := ready
	for _, m := range r.Members {
		if m.Wave == r.Wave && !m.Lost && (m.State == MemberFailed || m.State == MemberSilent || m.State == MemberGranted) {
			granted++
		}
	}
	switch {
	case ready < minimum(s.MinReady, granted):
		return fmt.Sprintf("%d of %d granted members of the wave %s are ready, and %d must be", ready, granted,
			r.Plan.Waves[r.Wave].Name, minimum(s.MinReady, granted))
	case ready < max(minimum(s.MinCoverage, all), min(1, all)):
		return fmt.Sprintf(
			"%d of %d members of the wave %s are ready, and %d must be: others are out of reach, held, skipped or failed before",
			ready, all, r.Plan.Waves[r.Wave].Name, max(1, minimum(s.MinCoverage, all)))
	}
	return ""
}

// complete ends a rollout whose waves are over. Exceptions are members that are not ready.
func (t *turn) complete(r *Rollout) {
	if r.count(allWaves, MemberReady) == 0 {
		t.add(r, Event{Kind: Paused, Wave: r.Wave,
			Why: "no member is ready, and a rollout without a ready member is not complete"})
		return
	}
	end := Event{Kind: Ended, Phase: Completed, Unproved: unproved(t, r)}
	if n := r.count(allWaves, MemberPending, MemberGranted, MemberFailed, MemberSilent, MemberSkipped); n > 0 {
		end.Phase, end.Why = WithExceptions, fmt.Sprintf("%d targets do not have the change or are not ready", n)
	}
	if len(end.Unproved) > 0 {
		end.Why = unprovedText(end.Why, end.Unproved)
	}
	t.add(r, end)
	owing{t}.left(r, end.Unproved)
}

// unproved returns the changes of a rollout that no ready member has: all members that needed them had no contact,
// failed, or left because a commit replaced the content.
func unproved(t *turn, r *Rollout) (out []Change) {
	left := map[Change]bool{}
	for _, c := range r.Plan.Changes {
		left[c.content()] = true
	}
	for _, id := range t.ids(r) {
		if r.Members[id].State == MemberReady && len(left) > 0 {
			t.w.remove(id, left)
		}
	}
	for _, c := range r.Plan.Changes {
		if left[c.content()] {
			out = append(out, c)
		}
	}
	return out
}

// content returns the change without the reason why it needs a rollout.
func (c Change) content() Change { return Change{Part: c.Part, Digest: c.Digest} }

// remove removes the changes that a target has. A target has the removal of a part if it has no content of the part.
func (w World) remove(id ID, changes map[Change]bool) {
	if w.Parts != nil {
		for _, c := range w.Parts(id) {
			delete(changes, c)
		}
	}
	for c := range changes {
		if (c.Digest == "" || w.Parts == nil) && w.Has(id, c.Part) == c.Digest {
			delete(changes, c)
		}
	}
}

// unprovedText adds the parts that a rollout does not make stable to the reason of its end.
func unprovedText(why string, unproved []Change) string {
	parts := make([]string, len(unproved))
	for i, c := range unproved {
		parts[i] = c.Part
	}
	text := "no ready target has its content of " + strings.Join(slices.Compact(parts), ", ") + ", so this is not stable"
	if why != "" {
		text = why + "; " + text
	}
	return text
}
