package rollouts

import (
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// gateDocuments describes the gates of all waves.
func gateDocuments(r *rollout.Rollout, up int64) (out []document.RolloutGate) {
	for i, w := range r.Plan.Waves {
		for _, g := range w.Gates {
			s := r.GateState(i, g.Name)
			d := document.RolloutGate{Wave: w.Name, Name: g.Name, Type: string(g.Type), DryRun: g.DryRun, State: "waits",
				Passes: s.Passes, Failures: s.Failures, Errors: s.Errors, Why: s.Why, At: s.At}
			if d.Need = g.Count; g.Type == rollout.ApprovalGate {
				d.Need, d.Passes = r.Need(g), len(s.Approvals)
			}
			for _, a := range s.Approvals {
				d.Approvals = append(d.Approvals, document.GateApproval{By: a.By, At: a.At})
			}
			if i == r.Wave {
				d.Deadline = r.Deadline(g, up)
			}
			switch {
			case s.Late && !g.Passed(s, r.Need(g)):
				d.State = "late"
			case g.Failed(s):
				d.State = "failed"
			case g.Passed(s, r.Need(g)):
				d.State = "passed"
			case i < r.Wave: // it had no effect, or the wave had no members
				d.State = "ended"
			case i > r.Wave || r.Settled == 0:
				d.State = "pending"
			case s.Errors > 0:
				d.State = "error"
			case s.Last == rollout.None:
				d.State = "none"
			}
			out = append(out, d)
		}
	}
	return out
}

// plannedGates describes the gates of a wave before its rollout.
func plannedGates(r *rollout.Rollout, wave int) (out []document.PlannedGate) {
	for _, g := range r.Gates(wave) {
		d := document.PlannedGate{Name: g.Name, Type: string(g.Type), DryRun: g.DryRun, Void: r.Void(wave, g),
			Timeout: r.Timeout(wave, g)}
		if g.Type == rollout.ApprovalGate {
			d.Need = r.Need(g)
		}
		out = append(out, d)
	}
	return out
}

// Due returns the verdicts that gates must return now.
func (l *Log) Due(now int64) []rollout.Due {
	l.showing.Lock()
	defer l.showing.Unlock()
	l.shown.sync()
	return l.shown.state.Due(now)
}
