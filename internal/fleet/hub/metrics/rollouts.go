package metrics

import (
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// setRollouts counts the rollouts that have not ended, and their targets. Each known phase and state has a value, so
// that alerts need no default.
func setRollouts(all []document.Rollout, set func(name string, value float64, labels ...string)) {
	phases, states, held := map[rollout.Phase]int{}, map[rollout.MemberState]int{}, 0
	for _, r := range all {
		if r.Held {
			held++
		}
		phase := rollout.Phase(r.Phase)
		if phase.Final() {
			continue
		}
		phases[phase]++
		for state, n := range r.Targets {
			states[rollout.MemberState(state)] += n
		}
	}
	for _, phase := range []rollout.Phase{rollout.Active, rollout.OnHold, rollout.RollingBack} {
		set("fettle_rollouts", float64(phases[phase]), string(phase))
	}
	for _, state := range []rollout.MemberState{rollout.MemberPending, rollout.MemberGranted, rollout.MemberReady,
		rollout.MemberFailed, rollout.MemberSilent, rollout.MemberSkipped, rollout.MemberReturned} {
		set("fettle_rollout_targets", float64(states[state]), string(state))
	}
	set("fettle_rollouts_held", float64(held))
}
