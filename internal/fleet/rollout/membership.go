package rollout

import "slices"

// membership removes members that left the fleet or want other content, and adds new targets.
func (t *turn) membership(r *Rollout) {
	if r.Phase == RollingBack {
		t.retired(r)
		return
	}
	later := laterThan(r, t)
	for _, id := range t.ids(r) {
		m := r.Members[id]
		if m.State == MemberLeft {
			continue
		}
		target, ok := t.w.Targets[id]
		switch {
		case !ok:
			t.about(r, Left, id, "it is not an active target any more")
		case target.Lane != r.Plan.Lane:
			t.about(r, Left, id, "it follows another branch")
		case t.replaced(r, target):
			t.about(r, Left, id, "the content was replaced")
		case strays(t.w, r, id, m):
			t.about(r, Left, id, "it has content that the log does not know")
		case m.State == MemberPending && !target.wants(r):
			t.about(r, Left, id, "it does not need the change any more")
		case m.untouched() && later(id, target):
			t.about(r, Left, id, "it requires another change, which waits for the end of the rollout")
		}
	}
	if r.count(allWaves, MemberLeft) == len(r.Members) {
		t.add(r, Event{Kind: Ended, Phase: Superseded, Why: "no target needs this change any more"})
		return
	}
	t.join(r)
}

// retired removes members that are not targets any more.
func (t *turn) retired(r *Rollout) {
	for _, id := range t.ids(r) {
		m := r.Members[id]
		if _, ok := t.w.Targets[id]; !ok && m.State != MemberLeft {
			t.about(r, Left, id, "it is not an active target any more")
		} else if ok && strays(t.w, r, id, m) {
			t.about(r, Left, id, "it has content that the log does not know")
		}
	}
}

// strays reports whether a member that was granted the change of a rollout has content of a rollout that the log does
// not know: neither the change nor the content before the grant. If a member that was ready has the earlier content,
// then the log does not know its rollback. In a rollback, each member may have the earlier content.
func strays(w World, r *Rollout, id ID, m *Member) bool {
	target := w.Targets[id]
	was := m.State == MemberReady && r.Phase != RollingBack
	return m.touched() && len(target.Foreign) > 0 && slices.ContainsFunc(r.Plan.Changes, func(c Change) bool {
		now := Change{Part: c.Part, Digest: w.Has(id, c.Part)}
		return target.isForeign(c.Part) && now.Digest != c.Digest && (was || !slices.Contains(m.Before, now))
	})
}

// join adds targets that began to need the change to the last wave, unless this wave began already.
// Such targets are free to have the change when the rollout is complete.
func (t *turn) join(r *Rollout) {
	last, later := len(r.Plan.Waves)-1, laterThan(r, t)
	if last == r.Wave {
		return
	}
	for _, id := range t.want(r.Plan.Changes) {
		target := t.w.Targets[id]
		if r.takesPart(id) || target.Lane != r.Plan.Lane || t.replaced(r, target) || t.s.excludes(id, r) ||
			later(id, target) {
			continue
		}
		t.add(r, Event{Kind: Joined, Target: id, Wave: last})
	}
}
