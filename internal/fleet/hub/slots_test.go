package hub

import (
	"context"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/locks"
)

// A target that leaves the fleet frees its slots: a retired one immediately, and a revoked one after its lease.
func TestSlotsOfTargetsThatLeave(t *testing.T) {
	inSim(t, 3, func(s *sim) {
		parts := simple("one")
		parts[""]["fettle.hcl"] += "\nlock \"reboots\" {\n  lease = \"30m\"\n}\n"
		s.site.commit("main", s.site.believed, parts)
		var agents []*simAgent
		for range 3 {
			a, err := s.enrol(map[string]string{"role": "web"})
			if err != nil {
				t.Fatal(err)
			}
			a.start()
			agents = append(agents, a)
		}
		s.wait(5 * time.Minute)
		acquire := func(a *simAgent) error {
			_, err := s.any().locks.Acquire(t.Context(), "reboots", string(a.id.ID))
			return err
		}
		if err := acquire(agents[0]); err != nil {
			t.Fatal(err)
		}
		if err := acquire(agents[1]); err == nil {
			t.Error("two targets have the slot")
		}
		if err := s.any().targets.Retire(context.Background(), ann, agents[0].id.ID, "sold"); err != nil {
			t.Fatal(err)
		}
		s.wait(time.Second)
		if err := acquire(agents[1]); err != nil {
			t.Errorf("after the owner was retired: %v", err)
		}
		if err := s.any().targets.Revoke(context.Background(), ann, agents[1].id.ID, "stolen"); err != nil {
			t.Fatal(err)
		}
		s.wait(30 * time.Minute)
		if err := acquire(agents[2]); err == nil {
			t.Error("the slot of a revoked target is free before the end of its lease")
		}
		s.wait(coordination.Grace + locks.TidyEvery)
		if err := acquire(agents[2]); err != nil {
			t.Errorf("after the lease of a revoked target: %v", err)
		}
	})
}
