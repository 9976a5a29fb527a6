package leader

import (
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// TestIdles: a leader that waits only for targets without contact decides again when one of them has contact, when
// other work is due, or when a rollout is open.
func TestIdles(t *testing.T) {
	now := time.Unix(1000, 0)
	here := []fleet.TargetID{}
	l := &term{Config: Config{Now: func() time.Time { return now }, IsAnyConnected: func(ids []fleet.TargetID) bool {
		return slices.ContainsFunc(ids, func(id fleet.TargetID) bool { return slices.Contains(here, id) })
	}}}
	if l.rollouts.due = now.Add(time.Minute); l.idles() {
		t.Error("it waits for nothing")
	}
	if l.rollouts.away = []fleet.TargetID{"a"}; !l.idles() {
		t.Error("it does not wait for a target without contact")
	}
	if here = []fleet.TargetID{"a"}; l.idles() {
		t.Error("the target has contact")
	}
	here = nil
	if l.rollouts.changed = make(chan struct{}); l.idles() {
		t.Error("a rollout is open")
	}
	l.rollouts.changed = nil
	if now = now.Add(time.Minute); l.idles() {
		t.Error("other work is due")
	}
}
