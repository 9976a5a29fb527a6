package leader

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// tell passes an event to the computation, if this hub leads.
func (l *Leader) tell(e assign.Event) {
	if t := l.current(); t != nil {
		t.queue.add(e)
	}
}

// unless returns v, or nil if the entry is gone.
func unless[T any](gone bool, v *T) *T {
	if gone {
		return nil
	}
	return v
}

// OnTarget passes a changed record of a target to the computation, if this hub leads.
func (l *Leader) OnTarget(key string, t fleet.Target, rev uint64, gone bool) {
	l.tell(assign.Event{Rev: rev, Kind: assign.TargetEvent, Key: key, Target: unless(gone, &t)})
}

// OnAssignment passes an assignment that a target showed to the computation, if this hub leads.
func (l *Leader) OnAssignment(key string, g records.Assignment, rev uint64, gone bool) {
	if !gone && len(g.Foreign) > 0 {
		l.tell(assign.Event{Rev: rev, Kind: assign.AssignmentEvent, Key: key, Assignment: &g.Assignment})
	}
}

// Watch passes the changes of mirrors to the computation, if this hub leads. It sets the field
// Changed of these mirrors, so it must be called before the mirrors are followed.
func (l *Leader) Watch() {
	r := l.Records
	r.Binaries.Changed = func(key string, p assign.BinarySetting, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.BinaryEvent, Key: key, Binary: unless(gone, &p)})
	}
	r.Exports.Changed = func(key string, e records.Exports, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.ExportsEvent, Key: key, Exports: unless(gone, &e.Values)})
	}
	r.Freezes.Changed = func(key string, f assign.Freeze, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.FreezeEvent, Key: key, Freeze: unless(gone, &f)})
	}
	r.Limits.Changed = func(key string, all []fleet.Limits, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.LimitsEvent, Key: key, Limits: unless(gone, &all)})
	}
	r.Exemptions.Changed = func(key string, e assign.Exemption, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.ExemptionEvent, Key: key, Exemption: unless(gone, &e)})
	}
	r.Environments.Changed = func(key string, e assign.Environment, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.EnvironmentEvent, Key: key, Environment: unless(gone, &e)})
		l.Refollow()
	}
	r.Replacements.Changed = func(key string, p assign.Replacement, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.ReplacementEvent, Key: key, Replacement: unless(gone, &p)})
		l.Refollow()
	}
	r.Refs.Changed = func(_ string, r records.Ref, rev uint64, gone bool) {
		if !gone {
			l.tell(assign.Event{Rev: rev, Kind: assign.RefEvent, Key: r.Name, Ref: r.Result()})
		}
	}
	r.Rollouts.Changed = func(_ string, e records.StoredRollouts, _ uint64, _ bool) {
		if e.Ordered {
			l.tell(assign.Event{}) // the leader decides again
		}
	}
	r.Approvals.Changed = func(key string, a assign.Approval, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.ApprovalEvent, Key: key, Approval: unless(gone, &a)})
	}
	r.MinimumGenerations.Changed = func(key string, f fleet.Have, rev uint64, gone bool) {
		l.tell(assign.Event{Rev: rev, Kind: assign.MinimumGenerationEvent, Key: key, MinimumGeneration: unless(gone, &f)})
	}
}
