package push

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// Adapt returns a strategy as a workstation performs it. One operator answers an approval gate, because a workstation
// cannot authenticate users. why is the reason for which the workstation cannot perform the strategy, or "".
func Adapt(s rollout.Strategy) (out rollout.Strategy, why string) {
	waves := make([]rollout.WaveRule, len(s.Waves))
	for i, w := range s.Waves {
		gates := w.Gates
		w.Gates = nil
		for _, g := range gates {
			switch {
			case g.Type == rollout.ApprovalGate:
				g.Need, g.Users, g.Groups, g.NotAuthor = 1, nil, nil, false
			case g.URL == "" && !g.DryRun:
				return s, fmt.Sprintf("the gate %s of the wave %s has no url, so its verdict is a report to a hub", g.Name,
					w.Name)
			}
			w.Gates = append(w.Gates, g)
		}
		waves[i] = w
	}
	s.Waves = waves
	return s, ""
}

// Questions returns the gates that must be asked now. The caller asks them, and reports each verdict to Answered.
func (m *Machine) Questions(now int64) (out []rollout.Due) {
	if m.stopped || !m.known() {
		return nil
	}
	for _, d := range m.state.Due(now) {
		if now >= m.asked[questionOf(d)] {
			m.asked[questionOf(d)] = never
			d.Rollout, d.State = m.name(), m.Rollout().GateState(d.Wave, d.Gate.Name)
			out = append(out, d)
		}
	}
	if all := m.approvals(); m.order.Asks && !m.prompted && len(all) > 0 {
		m.prompted = true
		out = append(out, all[0])
	}
	return out
}

// name returns the name of the rollout for programs: it has the same name after an interruption, and other rollouts,
// also of other workstations, have another one.
func (m *Machine) name() string {
	o := m.order
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{o.Content, o.Strategy.Name, o.Targets, o.Operator, m.Rollout().At}))
	return "push-" + hex.EncodeToString(sum[:8])
}

// approvals returns the gates that wait for the operator. It returns none while another condition delays the wave.
func (m *Machine) approvals() (out []rollout.Due) {
	r := m.Rollout()
	if r == nil || r.Phase != rollout.Active || r.Settled == 0 || m.now-r.Settled < r.Plan.Waves[r.Wave].Bake {
		return nil
	}
	for _, g := range r.Gates(r.Wave) {
		switch {
		case g.DryRun || r.Void(r.Wave, g) || g.Passed(r.GateState(r.Wave, g.Name), r.Need(g)):
		case g.Type != rollout.ApprovalGate:
			return nil
		default:
			out = append(out, rollout.Due{Rollout: r.ID, Plan: r.Plan, Gate: g, Wave: r.Wave, Period: r.Period})
		}
	}
	return out
}

// Awaits returns the gates for which the command ends, because only the operator delays the wave and cannot be asked.
// It must be called after Next.
func (m *Machine) Awaits() []rollout.Due {
	if m.order.Asks || m.stopped || !m.known() || len(m.order.Answers) > 0 {
		return nil
	}
	return m.approvals()
}

// Answered records the verdict of a question. A verdict of an earlier bake time has no effect. Later means that the
// program must be asked again, because it cannot report to a workstation. Of an approval gate, verdicts other than Pass
// and Fail mean that the operator cannot be asked any more.
func (m *Machine) Answered(d rollout.Due, v rollout.Verdict, why string, now int64) {
	r := m.Rollout()
	outdated := d.Wave != r.Wave || d.Period != r.Period
	if d.Gate.Type == rollout.ApprovalGate {
		m.prompted = false
		m.order.Asks = (v == rollout.Pass || v == rollout.Fail) &&
			(outdated || m.answer(Answer{d.Gate.Name, v == rollout.Pass}, now))
		return
	}
	m.asked[questionOf(d)] = now + d.Gate.Interval
	if outdated {
		return
	}
	if v == rollout.Later {
		v = rollout.None
	}
	if d.Repeats(v, why) {
		return
	}
	m.command(rollout.Command{Action: rollout.ToJudge, Gate: d.Gate.Name, Period: d.Period, Verdict: v, Why: why}, now)
}

// answer records a decision of the operator. A decision that does not fit the present state is not ok.
func (m *Machine) answer(a Answer, now int64) (ok bool) {
	c := rollout.Command{Action: rollout.ToReject, Gate: a.Gate, By: m.order.Operator}
	if a.Approve {
		c.Action = rollout.ToApprove
	}
	return m.command(c, now)
}

// command adds the events of a command. A command that does not fit the present state has no effect, and is not ok.
func (m *Machine) command(c rollout.Command, now int64) (ok bool) {
	c.Rollout = m.Rollout().ID
	events, err := m.state.Order(c, now)
	m.add(events)
	return err == nil
}

// known reports whether the state of each ready target is known. After an interruption, its first check decides, so
// that no wave ends before.
func (m *Machine) known() bool {
	if !m.tried() {
		return false
	}
	for id, t := range m.targets {
		if t.planned && t.online && t.health == rollout.Unknown && m.operation(id, t) == Check {
			return false
		}
	}
	return true
}
