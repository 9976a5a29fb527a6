package machine

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// frozenBy records the user and reason of a local freeze, "" for none. The freeze is checked again at its end, and at
// least every thawAgain, because the clock can jump. A change is reported immediately.
func (m *runs) frozenBy(why string, until int64) {
	again := never
	if why != "" {
		again = m.now.Mono + thawAgain
	}
	if why != "" && until > 0 {
		again = min(again, m.now.Mono+max(time.Duration(until-m.now.Wall), thawSoonest))
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
