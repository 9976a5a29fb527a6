package machine

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// Frequently changing values must not make other targets run all the time. A change is sent after
// firstSteady. Each change soon after the previous one doubles this time, up to longestSteady.
// Values that are stable for four times as long reset it.
const (
	firstSteady   = 2 * time.Second
	longestSteady = 10 * time.Minute
)

// exports records the exported values after a successful run.
func (m *exporter) exports(now []exported.Own) {
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
		return // a change already waits; the newest values will be sent
	}
	m.due[exportTimer] = m.now.Mono + m.steady
}

// mustPublish reports whether the connected hub does not have the current exported values.
func (m *exporter) mustPublish() bool {
	news := len(m.Exports) > 0 || m.ExportsReported
	return m.up && !m.sharing && news && (m.known == nil || !exported.SameOwn(m.known, m.Exports))
}

func (m *exporter) publish() {
	if !m.mustPublish() || !m.isDue(exportTimer) {
		return
	}
	if !m.ExportsReported {
		m.ExportsReported, m.changed = true, true
	}
	m.sharing, m.shared = true, m.now.Mono
	m.do(Publish{fleet.Exports{Values: slices.Clone(m.Exports)}})
}

// published handles the answer of a hub.
func (m *exporter) published(e Published) {
	m.sharing = false
	if e.Error != "" {
		m.again(exportTimer, firstSend, longest)
		return
	}
	m.failures[exportTimer] = 0
	if m.up {
		m.known = append([]exported.Own{}, e.Exports.Values...)
	}
	if len(e.Exports.Values) == 0 && m.ExportsReported && len(m.Exports) == 0 {
		m.ExportsReported, m.changed = false, true
	}
}

// carryFor is the time for which values of the previous epoch are still used.
const carryFor = 10 * time.Minute

// carry keeps the values of other targets when a new epoch begins. After a loss of its store, a hub
// has no values until all agents have sent them again. Until then missing values have their
// previous content.
func (m *exporter) carry(next fleet.Assignment) {
	if m.Accepted == nil || next.Epoch <= m.Accepted.Epoch || len(m.Accepted.Exported) == 0 || next.Withdrawn != "" {
		return
	}
	m.PreviousValues, m.due[carryTimer], m.changed = m.given(), m.now.Mono+carryFor, true
}

// carried drops the carried values after carryFor, or when the new epoch has all of them.
func (m *exporter) carried() {
	if m.PreviousValues != nil && (m.isDue(carryTimer) || m.Accepted == nil ||
		exported.Same(m.given(), m.Accepted.Exported)) {
		m.PreviousValues, m.due[carryTimer], m.changed = nil, never, true
	}
}
