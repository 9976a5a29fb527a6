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
}

// windowStates are the states of lists of windows at one time.
type windowStates map[windowKey]window.State

// at returns the state of a list that is not empty at a time in seconds since 1970.
func (s windowStates) at(all []window.Window, now int64) window.State {
	key := windowKey{&all[0], len(all)}
	state, known := s[key]
	if !known {
		set, err := window.Compile(all)
		if state = set.At(time.Unix(now, 0)); err != nil {
			state = window.State{Why: err.Error()}
		}
		s[key] = state
	}
	return state
}
