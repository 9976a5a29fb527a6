package machine

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// frozenBy takes in who froze the machine, "" for nobody, and when that is asked again.
// What is new is told at once.
func (m *Machine) frozenBy(why string, again time.Duration) {
	if why != "" {
		again = min(again, m.now.Mono+thawAgain)
	}
	was := m.localFreeze
	m.localFreeze, m.due[thawTimer] = why, again
	switch {
	case why == was:
	case why == "":
		m.report(fleet.Event{Kind: fleet.Told, Text: "not frozen any more"})
	default:
		m.report(fleet.Event{Kind: fleet.Told, Text: "frozen " + why})
	}
}

// thawSoon is when to ask whether the machine is frozen still, if something changed on it.
func (m *Machine) thawSoon() time.Duration {
	if m.localFreeze == "" {
		return m.due[thawTimer]
	}
	return m.now.Mono
}
