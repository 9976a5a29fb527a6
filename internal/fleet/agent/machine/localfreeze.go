package machine

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// frozenBy records the user and reason of a local freeze, "" for none, and when to check it again.
// A change is reported immediately.
func (m *runs) frozenBy(why string, again time.Duration) {
	if why != "" {
		again = min(again, m.now.Mono+thawAgain)
	}
	was := m.localFreeze
	m.localFreeze, m.due[thawTimer] = why, again
	switch {
	case why == was:
	case why == "":
		m.report(fleet.Event{Kind: fleet.ReportRequested, Text: "no longer frozen"})
	default:
		m.report(fleet.Event{Kind: fleet.ReportRequested, Text: "frozen " + why})
	}
}

// thawSoon returns the time of the next check of the local freeze after a change on the host.
func (m *runs) thawSoon() time.Duration {
	if m.localFreeze == "" {
		return m.due[thawTimer]
	}
	return m.now.Mono
}
