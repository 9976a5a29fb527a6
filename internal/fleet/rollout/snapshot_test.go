package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// A snapshot keeps what operators decided: an excluded target, and content that is held. A rollout with too many
// members stays without them if it is needed.
func TestSnapshot(t *testing.T) {
	f := begun(t, 4)
	f.head["web"] = "w2"
	f.step(1)
	if _, ok := f.s.Snapshot(100); ok {
		t.Error("there is a snapshot while a rollout is open")
	}
	id := f.s.Rollouts["r2"].Plan.Waves[2].Members[0]
	f.command(t, rollout.ToSkip, id)
	f.until(t, "the end", func() bool { return f.phase("r2").Final() })
	if f.restart(); f.cut == 0 {
		t.Fatal("there is no snapshot")
	}
	for id, m := range f.s.Rollouts["r2"].Members {
		if m.Before != nil {
			t.Errorf("the snapshot contains the previous content of %s, which no rollback needs any more", id)
		}
	}
	c := rollout.Change{Part: "web", Digest: "w2"}
	if ok, why := f.s.Allowed(id, "main", c); ok {
		t.Errorf("the excluded target may have it: %s", why)
	}
	f.head["web"] = "w3"
	f.step(1)
	if _, err := f.s.Order(rollout.Command{Action: rollout.ToAbort, Rollout: "r3"}, f.now); err != nil {
		t.Fatal(err)
	}
	o, ok := f.s.Snapshot(0)
	if !ok || len(o.Rollouts) != 2 || o.Rollouts[1].ID != "r3" || o.Rollouts[1].Members != nil ||
		o.Rollouts[1].Wave != 0 {
		t.Fatalf("the snapshot without members: %v, %+v", ok, o)
	}
	s := o.State()
	if by := s.HeldBy("main", rollout.Change{Part: "web", Digest: "w3"}); by != "r3" {
		t.Errorf("the content is held by %q", by)
	}
	if _, err := s.Order(rollout.Command{Action: rollout.ToRelease, Rollout: "r3"}, f.now); err != nil {
		t.Error(err)
	}
}
