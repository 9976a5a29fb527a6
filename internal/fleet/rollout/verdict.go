package rollout

import "fmt"

// arrived reports whether the newest assignment of a target has the changes.
func arrived(r *Rollout, target Target) bool { return !target.wants(r) }

// verdict updates the state of a member that was granted the change.
func (t *turn) verdict(r *Rollout, id ID, m *Member) {
	target, ok := t.w.Targets[id]
	if !ok || !m.touched() || r.Phase == RollingBack {
		return
	}
	if m.State != MemberSilent && t.w.silentFor(target, m.Granted, t.now) >= r.Plan.Strategy.SilentAfter {
		if m.State != MemberFailed && m.State != MemberSkipped {
			t.about(r, Silent, id, "no contact since the change was granted")
		}
		return
	}
	if !target.Online || !arrived(r, target) {
		return
	}
	switch m.State {
	case MemberGranted:
		t.settle(r, id, m, target)
	case MemberReady:
		if target.Health == Broken {
			t.about(r, Failed, id, "it was ready, and failed afterwards")
		}
	case MemberFailed, MemberSilent:
		t.recover(r, id, m, target)
	}
}

// settle decides whether a granted member is ready or failed.
func (t *turn) settle(r *Rollout, id ID, m *Member, target Target) {
	s := r.Plan.Strategy
	granted := t.w.counted(m.Granted, t.now)
	since := max(target.Since, granted)
	switch {
	case target.Health == Broken:
		why := "the run or a check failed"
		if m.Lost {
			why = "it had failed before the change, and still fails"
		}
		t.about(r, Failed, id, why)
	case target.Health == Healthy && t.now-since >= s.MinReadyTime:
		t.about(r, Ready, id, "")
	case target.Health == Applying && t.now-since >= s.ProgressDeadline,
		target.Health == Unknown && t.now-granted >= s.ProgressDeadline:
		t.about(r, Failed, id, fmt.Sprintf("it is not ready %d s after the grant", t.now-m.Granted))
	}
}

// recover takes a verdict back if the member proves the contrary: a failed member is ready, or a
// silent member has contact again.
func (t *turn) recover(r *Rollout, id ID, m *Member, target Target) {
	if m.State == MemberSilent || target.Health == Healthy {
		t.about(r, Recovered, id, "")
	}
}
