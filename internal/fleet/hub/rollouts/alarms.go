package rollouts

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// Alarms returns the alarms about rollouts that need an operator: rollouts that paused without a command,
// rollouts that wait for an approval, and rollouts with held content that targets lack. Call it after Plan.
func (t *Turn) Alarms() (out []assign.Alarm) {
	for _, r := range t.log.state.All() {
		switch ids := t.held[r.ID]; {
		case r.Phase == rollout.OnHold && r.By == "":
			out = append(out, assign.Alarm{Kind: assign.RolloutPaused,
				Text: fmt.Sprintf("The rollout %[1]s paused: %[2]s. See fettle rollout show %[1]s, then resume it or roll it back.",
					r.ID, r.Why)})
		case r.Phase == rollout.Active && len(r.Unapproved()) > 0:
			out = append(out, assign.Alarm{Kind: assign.RolloutWaits,
				Text: fmt.Sprintf("The rollout %[1]s waits for approval (%[2]s): %[3]s. See fettle rollout show %[1]s, then run "+
					"fettle rollout approve %[1]s, or reject it.", r.ID, strings.Join(r.Unapproved(), ", "), r.Plan.Cause)})
		case r.Phase == rollout.Active && len(t.world.Awaits(r)) > 0:
			path := t.world.Awaits(r)[0]
			out = append(out, assign.Alarm{Kind: assign.RolloutWaits,
				Text: fmt.Sprintf("The rollout %[1]s waits for approvals for the organization %[2]s: %[3]s. See fettle "+
					"organization show %[2]s, then run fettle organization approve %[2]s %[1]s, or skip the targets.",
					r.ID, path, r.Plan.Cause)})
		case t.log.state.Holds(r):
			held := t.heldBecause(r)
			out = append(out, assign.Alarm{Kind: assign.RolloutHeld, Count: len(ids), Held: &held,
				Targets: ids[:min(len(ids), assign.MaxAlarmTargets)],
				Text: fmt.Sprintf("The rollout %[1]s was stopped (%[2]s), so its content is %[4]s: %[3]s. "+
					"Push a newer commit, or run: fettle rollout release %[1]s", r.ID, r.Why, r.Plan.Cause, held.Text)})
		}
	}
	return out
}
