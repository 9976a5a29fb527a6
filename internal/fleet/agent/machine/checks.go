package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// ReadScopes reads the scopes that the applied composition declares, and tests their checks from now on.
type ReadScopes struct {
	Has    *fleet.Assignment
	Absent []string // assigned modules that it does not contain
}

// ChecksChanged has the current results of all checks of scopes that this target tests.
type ChecksChanged struct{ Results []fleet.CheckResult }

func (ReadScopes) action()   {}
func (ChecksChanged) event() {}

// checkPause is the minimum time between two reports about checks.
const checkPause = 10 * time.Second

// begin keeps the results of the previous process, so that a restart of the agent causes no report about checks. After
// a reboot the results are unknown until each check is tested again.
func (m *checks) begin() {
	if m.Checks != nil && (m.Checks.Boot != m.cfg.Boot || m.cfg.Boot == "") {
		m.Checks, m.changed = nil, true
	}
	m.told = m.results()
}

func (m *checks) results() []fleet.CheckResult {
	if m.Checks == nil {
		return nil
	}
	return m.Checks.Results
}

// readScopes makes the driver read the scopes after each change of the applied composition.
func (m *checks) readScopes() {
	if m.Applied == nil {
		return
	}
	if !sameComposition(m.read, m.Applied) || !slices.Equal(m.absent, m.Absent) ||
		!fleet.SameEnvironments(m.read.TestsFor, m.Applied.TestsFor) {
		m.do(ReadScopes{m.Applied, m.Absent})
	}
	m.read, m.absent = m.Applied, m.Absent
}

// tested records new results.
func (m *checks) tested(e ChecksChanged) {
	now := fleet.ValidChecks(e.Results)
	switch {
	case slices.Equal(now, m.results()):
		return
	case len(now) == 0:
		m.Checks = nil
	default:
		m.Checks = &StoredChecks{Boot: m.cfg.Boot, Results: now}
	}
	m.changed = true
}

// hasNews reports whether the hubs do not have the current outcomes, or no event describes them.
func (m *checks) hasNews() bool {
	now := m.results()
	return !sameOutcomes(now, m.told) || !sameOutcomes(now, m.sent)
}

func (m *checks) announce() {
	if slices.ContainsFunc(m.actions, func(a Action) bool { _, ok := a.(Append); return ok }) {
		m.sent = m.results() // another report of this step has them
	}
	if !m.hasNews() || !m.isDue(checkTimer) {
		return
	}
	m.due[checkTimer] = m.now.Mono + checkPause
	m.report(m.event())
	m.told = m.results()
}

// event describes the changes since the last event.
func (m *checks) event() fleet.Event {
	e := fleet.Event{Kind: fleet.Checked}
	var changes []string
	for _, r := range m.results() {
		if was, ok := findCheck(m.told, r); ok && sameOutcome(was, r) {
			continue
		}
		changes = append(changes, fmt.Sprintf("%s %s: %s", r.Scope, r.Check, r.Outcome))
		if r.Outcome == fleet.CheckFailed && e.Error == "" {
			e.Error = fmt.Sprintf("%s, check %s: %s", r.Scope, r.Check, r.Text)
		}
	}
	for _, r := range m.told {
		if _, ok := findCheck(m.results(), r); !ok {
			changes = append(changes, fmt.Sprintf("%s %s: no longer tested", r.Scope, r.Check))
		}
	}
	if e.Text = strings.Join(changes, ", "); e.Text == "" {
		e.Text = "all results are as in the previous event"
	}
	return e
}

func findCheck(list []fleet.CheckResult, like fleet.CheckResult) (fleet.CheckResult, bool) {
	i := slices.IndexFunc(list, func(r fleet.CheckResult) bool { return r.Scope == like.Scope && r.Check == like.Check })
	if i < 0 {
		return fleet.CheckResult{}, false
	}
	return list[i], true
}

func sameOutcome(a, b fleet.CheckResult) bool {
	return a.Scope == b.Scope && a.Check == b.Check && a.Digest == b.Digest && a.Outcome == b.Outcome
}

func sameOutcomes(a, b []fleet.CheckResult) bool { return slices.EqualFunc(a, b, sameOutcome) }
