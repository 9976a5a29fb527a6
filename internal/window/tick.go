package window

import (
	"time"

	"github.com/adhocore/gronx"
)

// maxShift is longer than any change of the clock of a zone because of daylight-saving time.
const maxShift = 3 * time.Hour

// maxTicks limits each search.
const maxTicks = 400

// wall returns the wall clock of the zone as a time in UTC, where each wall time exists once.
func (c compiled) wall(t time.Time) time.Time {
	l := t.In(c.zone)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
}

// real returns the first time at which the wall clock of the zone has a value. If the clock skips the value, it returns
// the time at which a clock that did not change would have it.
func (c compiled) real(wall time.Time) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, c.zone)
	if shown := c.wall(t); shown.Before(wall) { // time.Date chose the offset after the change
		return t.Add(wall.Sub(shown))
	}
	_, offset := t.Zone()
	_, before := t.Add(-maxShift).Zone()
	if earlier := t.Add(time.Duration(offset-before) * time.Second); offset < before && c.wall(earlier).Equal(c.wall(t)) {
		return earlier
	}
	return t
}

// last returns the begin of the window that is the last one at or before a time.
func (c compiled) last(now time.Time) (begin time.Time, ok bool) {
	wall := c.wall(now).Add(maxShift)
	for range maxTicks {
		tick, err := gronx.PrevTickBefore(c.Schedule, wall, true)
		if err != nil {
			return begin, false
		}
		if begin = c.real(tick); !begin.After(now) {
			return begin, true
		}
		wall = tick.Add(-time.Minute)
	}
	return begin, false
}

// next returns the first begin of the window after a time.
func (c compiled) next(now time.Time) (begin time.Time, ok bool) {
	wall := c.wall(now).Truncate(time.Minute).Add(-maxShift)
	for range maxTicks {
		tick, err := gronx.NextTickAfter(c.Schedule, wall, true)
		if err != nil {
			return begin, false
		}
		if begin = c.real(tick); begin.After(now) {
			return begin, true
		}
		wall = tick.Add(time.Minute)
	}
	return begin, false
}

// active reports whether a time is in the window. until is its end then; it is at most maxTicks repetitions later.
func (c compiled) active(now time.Time) (until time.Time, ok bool) {
	length := time.Duration(c.Seconds) * time.Second
	begin, ok := c.last(now)
	if !ok || !now.Before(begin.Add(length)) {
		return until, false
	}
	for range maxTicks {
		next, ok := c.next(begin)
		if !ok || next.After(begin.Add(length)) {
			break
		}
		begin = next
	}
	return begin.Add(length), true
}
