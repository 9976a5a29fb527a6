package window

import (
	"fmt"
	"time"
)

// State is the state of a set at a time.
type State struct {
	Open bool
	// Until is the time of the next change, or before it; zero means never. Until then the state is the same.
	Until time.Time
	Why   string // the reason why it is not open, for users
}

// At returns the state at a time.
func (s Set) At(now time.Time) State {
	var until time.Time // the begin of the next window that denies
	for _, c := range s.all {
		if !c.Deny {
			continue
		}
		if end, ok := c.active(now); ok {
			return State{Until: end,
				Why: fmt.Sprintf("inside the window %q, which denies changes until %s", c.Name, c.text(end))}
		}
		if begin, ok := c.next(now); ok && (until.IsZero() || begin.Before(until)) {
			until = begin
		}
	}
	return s.allowed(now, until)
}

// allowed is At without a window that denies now. until is the begin of the next one.
func (s Set) allowed(now, until time.Time) State {
	var first compiled
	var opens, closes time.Time
	some := false
	for _, c := range s.all {
		if c.Deny {
			continue
		}
		some = true
		if end, ok := c.active(now); ok && end.After(closes) {
			closes = end
		}
		if begin, ok := c.next(now); ok && (opens.IsZero() || begin.Before(opens)) {
			first, opens = c, begin
		}
	}
	switch {
	case !some:
		return State{Open: true, Until: until}
	case !closes.IsZero():
		if until.IsZero() || closes.Before(until) {
			until = closes
		}
		return State{Open: true, Until: until}
	case opens.IsZero():
		return State{Why: "outside of all windows, and none opens again"}
	}
	return State{Until: opens, Why: fmt.Sprintf("outside the window %q, which opens at %s", first.Name, first.text(opens))}
}

// OpenFor returns the time from one time to another in which the set is open. It stops counting when the sum
// reaches enough.
func (s Set) OpenFor(from, to time.Time, enough time.Duration) time.Duration {
	sum := time.Duration(0)
	for range 10 * maxTicks {
		if !from.Before(to) || sum >= enough {
			return sum
		}
		state := s.At(from)
		end := to
		if !state.Until.IsZero() && state.Until.Before(to) {
			end = state.Until
		}
		if state.Open {
			sum += end.Sub(from)
		}
		from = end
	}
	return sum
}

func (c compiled) text(t time.Time) string { return t.In(c.zone).Format("2006-01-02 15:04 MST") }
