package machine

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// generation names an assignment in an event.
func generation(a *fleet.Assignment) string { return "generation " + a.Number().String() }

// acceptedText is the text of the event that an assignment was accepted. If its content is applied
// already, no run follows, so the event reports this.
func (m *core) acceptedText(a *fleet.Assignment) string {
	if m.Applied != nil && sameComposition(a, m.Applied) {
		return generation(a) + ", which changes nothing here"
	}
	return generation(a)
}

// runText names the generation of a run, and how many of its modules the run left out.
func (m *core) runText(r *Run) string {
	text := generation(&r.Want)
	switch n := m.leftOut(r); n {
	case 0:
		return text
	case 1:
		return text + " without one of its modules"
	default:
		return fmt.Sprintf("%s without %d of its modules", text, n)
	}
}

// leftOut counts modules that are absent from a run, or took part at an earlier version.
func (m *core) leftOut(r *Run) int {
	n := len(r.Absent)
	if m.Accepted == nil || m.Accepted.Number() != r.Want.Number() {
		return n
	}
	for i, as := range m.Accepted.Modules {
		if had, is := find(&r.Want, i, as.Module); is && had.Bundle != as.Bundle && !slices.Contains(r.Absent, as.Module) {
			n++
		}
	}
	return n
}
