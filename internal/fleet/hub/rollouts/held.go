package rollouts

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// heldTargets returns the targets that want held content, by the rollout because of which it is held.
func heldTargets(s *rollout.State, w rollout.World) map[string]map[fleet.TargetID]bool {
	out := map[string]map[fleet.TargetID]bool{}
	for id, target := range w.Targets {
		for _, c := range target.Wants {
			by := s.HeldBy(target.Lane, c)
			if by != "" && out[by] == nil {
				out[by] = map[fleet.TargetID]bool{}
			}
			if by != "" {
				out[by][id] = true
			}
		}
	}
	return out
}
