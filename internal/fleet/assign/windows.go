package assign

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/window"
)

// windowLists are different lists of windows. There are few.
type windowLists [][]window.Window

// share returns an equal list that other targets share. nil stays nil.
func (l *windowLists) share(list []window.Window) []window.Window {
	if len(list) == 0 {
		return nil
	}
	for _, known := range *l {
		if slices.Equal(known, list) {
			return known
		}
	}
	*l = append(*l, list)
	return list
}

// windowKey identifies a list of windows that targets share.
type windowKey struct {
	first *window.Window
	count int
	zone  string
}

// windowStates are the states of lists of windows at one time.
type windowStates map[windowKey]window.State

// at returns the state of a list that is not empty for a target in a zone at a time in seconds since 1970.
func (s windowStates) at(all []window.Window, zone string, now int64) window.State {
	if !window.IsLocal(all) {
		zone = ""
	}
	key := windowKey{&all[0], len(all), zone}
	state, known := s[key]
	if !known {
		set, err := window.Compile(all, zone)
		if state = set.At(time.Unix(now, 0)); err != nil {
			state = window.State{Why: err.Error()}
		}
		s[key] = state
	}
	return state
}

// readableWindows are lists without the zone of the target, by the list that they replace.
type readableWindows map[*window.Window][]window.Window

// of returns a list of windows that the agent of a target in a zone can read. An agent that does not report its zone
// can be too old for windows with the zone of the target. It gets no change before it reports a zone, except changes
// that wait for no window, so the replacement has no effect.
func (r readableWindows) of(list []window.Window, zone string) []window.Window {
	if zone != "" || !window.IsLocal(list) {
		return list
	}
	out, known := r[&list[0]]
	if !known {
		out = slices.Clone(list)
		for i := range out {
			if out[i].Zone == window.TargetZone {
				out[i].Zone = "UTC"
			}
		}
		r[&list[0]] = out
	}
	return out
}
