package machine

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// Values that change again and again must not make others run again and again: what has
// changed is told after firstSteady, and each change that comes soon after the last doubles
// that, up to longestSteady. Values that stay for four times as long are calm again.
const (
	firstSteady   = 2 * time.Second
	longestSteady = 10 * time.Minute
)

// exports takes in what the modules export after a run that went well.
func (m *Machine) exports(now []exported.Own) {
	if exported.SameOwn(m.Exports, now) {
		return
	}
	m.Exports, m.changed = slices.Clone(now), true
	switch calm := m.steady == 0 || m.now.Mono-m.shared > 4*m.steady; {
	case calm:
		m.steady = firstSteady
	case m.due[exportTimer] <= m.now.Mono || m.due[exportTimer] == never:
		m.steady = min(2*m.steady, longestSteady)
	default:
		return // they wait to be told already: the newest will be
	}
	m.due[exportTimer] = m.now.Mono + m.steady
}

// mustPublish tells whether a hub that can be reached does not know what is exported.
func (m *Machine) mustPublish() bool {
	news := len(m.Exports) > 0 || m.Told
	return m.up && !m.sharing && news && (m.known == nil || !exported.SameOwn(m.known, m.Exports))
}

func (m *Machine) publish() {
	if !m.mustPublish() || !m.isDue(exportTimer) {
		return
	}
	if !m.Told {
		m.Told, m.changed = true, true
	}
	m.sharing, m.shared = true, m.now.Mono
	m.do(Publish{fleet.Exports{Values: slices.Clone(m.Exports)}})
}

// published takes in what a hub said.
func (m *Machine) published(e Published) {
	m.sharing = false
	if e.Error != "" {
		m.again(exportTimer, firstSend, longest)
		return
	}
	m.failures[exportTimer] = 0
	if m.up {
		m.known = append([]exported.Own{}, e.Exports.Values...)
	}
	if len(e.Exports.Values) == 0 && m.Told && len(m.Exports) == 0 {
		m.Told, m.changed = false, true
	}
}

// carryFor is how long values of an earlier epoch count beside those of the present one.
const carryFor = 10 * time.Minute

// carry keeps the values of others when an epoch ends: a store that was lost knows of none
// before all agents have told it theirs, and until then those who are missing count as they
// were.
func (m *Machine) carry(next fleet.Assignment) {
	if m.Accepted == nil || next.Epoch <= m.Accepted.Epoch || len(m.Accepted.Exported) == 0 || next.Withdrawn != "" {
		return
	}
	m.Carried, m.due[carryTimer], m.changed = m.given(), m.now.Mono+carryFor, true
}

// carried lets them go in time, or when all are there again.
func (m *Machine) carried() {
	if m.Carried != nil && (m.isDue(carryTimer) || m.Accepted == nil || exported.Same(m.given(), m.Accepted.Exported)) {
		m.Carried, m.due[carryTimer], m.changed = nil, never, true
	}
}

// given are the values of others that count now.
func (m *Machine) given() []exported.Table {
	if m.Carried == nil {
		return m.Accepted.Exported
	}
	out := slices.Clone(m.Accepted.Exported)
	for i, t := range out {
		for _, old := range m.Carried {
			if old.Module != t.Module || old.Output != t.Output || string(old.Type) != string(t.Type) {
				continue
			}
			values := slices.Clone(t.Values)
			for _, v := range old.Values {
				if !slices.ContainsFunc(t.Values, func(w exported.Value) bool { return w.Key() == v.Key() }) {
					values = append(values, v)
				}
			}
			out[i].Values = values
		}
	}
	exported.Sort(out)
	return out
}
