package rollout

import (
	"fmt"
	"slices"
)

// breach ends grants as soon as a rollout exceeds its limits.
func (t *turn) breach(r *Rollout) {
	if r.Phase != Active {
		return
	}
	n, s := r.size(allWaves), r.Plan.Strategy
	failed, silent := r.failed(), r.count(allWaves, MemberSilent)
	switch {
	case failed > tolerance(s.MaxFailed, n)+r.forgiven:
		t.add(r, Event{Kind: Breached, Reaction: s.OnBreach,
			Why: fmt.Sprintf("%d of %d failed, and at most %d may fail", failed, n, tolerance(s.MaxFailed, n))})
	case silent > tolerance(s.MaxSilent, n)+r.forgiven:
		t.add(r, Event{Kind: Breached, Reaction: t.silenceReaction(r),
			Why: fmt.Sprintf("%d of %d have no contact since the change, and at most %d may", silent, n,
				tolerance(s.MaxSilent, n))})
	}
}

// aborted ends a rollout after the reaction Abort to a breach.
func (t *turn) aborted(r *Rollout) {
	if r.Phase == Aborted {
		t.add(r, Event{Kind: Ended, Phase: Aborted, Why: r.Why})
	}
}

// margin is the difference in percent between the silence of granted and other targets that makes the
// change the probable cause.
const margin = 10

// silenceReaction returns the reaction to silent members. If targets without the change are as
// silent, the network is the probable cause: a rollback could not reach the members either.
func (t *turn) silenceReaction(r *Rollout) Reaction {
	touched, silent, others, quiet := 0, 0, 0, 0
	for id, target := range t.w.Targets {
		gone := t.w.silentFor(target, r.At, t.now) >= r.Plan.Strategy.SilentAfter
		if m := r.Members[id]; m != nil && m.touched() {
			touched++
			silent += one(gone)
		} else if target.Contact >= r.At { // it had contact during the rollout
			others++
			quiet += one(gone)
		}
	}
	if others > 0 && silent*100*others <= (quiet*100+margin*others)*touched {
		return Pause
	}
	return r.Plan.Strategy.OnBreach
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// returned follows a rollback. A member without an earlier assignment keeps the change: there is
// nothing to which it could return. A silent member gets its previous content, too, and the rollback does not wait for
// its result. A member that does not return in time, for example because it refuses the
// earlier content, does not keep the rollback open.
func (t *turn) returned(r *Rollout) {
	open := 0
	for _, id := range t.ids(r) {
		m := r.Members[id]
		if !m.touched() {
			continue
		}
		target := t.w.Targets[id]
		back := t.isBack(id, m)
		switch {
		case len(m.Before) == 0, back && target.Health == Healthy:
			t.about(r, Returned, id, "")
		case back && (target.Health == Broken || t.w.silentFor(target, r.At, t.now) >= r.Plan.Strategy.SilentAfter),
			t.now-max(r.Stopped, t.w.Up) >= r.Plan.Strategy.ProgressDeadline:
		default:
			open++
		}
	}
	if open == 0 {
		t.add(r, Event{Kind: Ended, Phase: RolledBack, Why: r.Why})
	}
}

// isBack reports whether the newest assignment of a member has its previous content again.
func (t *turn) isBack(id ID, m *Member) bool {
	return !slices.ContainsFunc(m.Before, func(c Change) bool { return t.w.Has(id, c.Part) != c.Digest })
}
