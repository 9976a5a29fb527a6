package rollouts

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// heldBecause describes the content that is held because of a rollout.
func (t *Turn) heldBecause(r *rollout.Rollout) fleet.HeldContent {
	var head, stable fleet.Revision
	var parts []string
	for _, c := range r.Plan.Changes {
		if t.log.state.HeldBy(r.Plan.Lane, c) != r.ID {
			continue
		}
		parts = append(parts, c.Part)
		head = t.newer(head, c)
		d, _ := t.log.state.Stable(r.Plan.Lane, c.Part)
		stable = t.newer(stable, rollout.Change{Part: c.Part, Digest: d})
	}
	slices.Sort(parts)
	h := fleet.NewHeldContent(slices.Compact(parts), head.Commit, stable.Commit)
	h.Rollout = r.ID
	return h
}

// newer returns the revision of a content if it is newer than a revision.
func (t *Turn) newer(than fleet.Revision, c rollout.Change) fleet.Revision {
	if p, ok := t.content(c); ok && (than.Commit == "" || p.Revision.Time > than.Time) {
		return p.Revision
	}
	return than
}

// NameRollouts sets the rollouts of content that is held because of a rollback of the fleet. Without a call of Plan,
// there are none.
func (t *Turn) NameRollouts(all []assign.Alarm) {
	if t.headBundle == nil {
		return
	}
	for i, a := range all {
		if a.Held == nil || a.Held.Rollout != "" {
			continue
		}
		held := *a.Held
		held.Rollout = t.delivers(held.Parts)
		all[i].Held = &held
	}
}

// delivers returns the newest rollout of the content that the head of the branch has of one of the parts, or "".
func (t *Turn) delivers(parts []string) string {
	for _, r := range t.log.state.All() {
		if slices.ContainsFunc(r.Plan.Changes, func(c rollout.Change) bool {
			p, ok := t.content(c)
			return ok && slices.Contains(parts, c.Part) && p.Bundle.Digest == t.headBundle(c.Part)
		}) {
			return r.ID
		}
	}
	return ""
}

// HeldContent returns the held content of alarms.
func HeldContent(all []assign.Alarm) (out []fleet.HeldContent) {
	for _, a := range all {
		if a.Held != nil {
			out = append(out, *a.Held)
		}
	}
	return out
}

// heldOf returns the held content of a rollout, or nil.
func heldOf(all []fleet.HeldContent, id string) *fleet.HeldContent {
	i := slices.IndexFunc(all, func(h fleet.HeldContent) bool { return h.Rollout == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// stateOf returns the state of a rollback of the fleet.
func stateOf(all []fleet.HeldContent, r assign.Replacement) string {
	for _, h := range all {
		if h.Head == r.Held && (h.Stable == r.Commit || h.Stable == "") &&
			(r.Part == assign.AllParts || slices.Contains(h.Parts, r.Part)) {
			return h.Text
		}
	}
	return "without effect: the branch has other content"
}
