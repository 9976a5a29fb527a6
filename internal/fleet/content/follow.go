package content

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Follow decides when to poll sources. It is deterministic: the caller passes the time, and the
// same calls have the same results. It is not safe for concurrent use.
//
//	f.Watch("site", time.Minute, now)
//	due := f.Due(now)              // poll these; they are not due again before Done
//	f.Done("site", err == nil, now)
//	wake, ok := f.Next()           // the time of the next poll
type Follow struct {
	// Gap is the minimum time between two polls of a source; 0 is MinEvery.
	Gap     time.Duration
	sources map[string]*followed
}

func (f *Follow) gap() time.Duration { return cmp.Or(f.Gap, MinEvery) }

type followed struct {
	every   time.Duration
	at      time.Time // when it is due
	asked   time.Time // the begin of the last poll
	running bool
	poked   bool // poked during a poll
	fails   int
	turn    uint64
}

// Limits of the time between two polls.
const (
	MinEvery  = 5 * time.Second // also between two webhooks that have an effect
	MaxPause  = 30 * time.Minute
	jitterOne = 10 // one part of this many of a pause is random
)

// Watch begins to follow a source, due at once, or changes its interval.
func (f *Follow) Watch(name string, every time.Duration, now time.Time) {
	if f.sources == nil {
		f.sources = map[string]*followed{}
	}
	every = max(every, f.gap())
	if s := f.sources[name]; s != nil {
		s.every = every
		return
	}
	f.sources[name] = &followed{every: every, at: now}
}

// Forget stops following a source.
func (f *Follow) Forget(name string) { delete(f.sources, name) }

// Poke makes a source due now, but not sooner than the gap after the last poll: many webhooks cost
// only a few polls. A webhook during a poll makes the source due again, because its change can be
// newer than the answer. Poke returns false if the source does not exist.
func (f *Follow) Poke(name string, now time.Time) bool {
	s := f.sources[name]
	if s == nil {
		return false
	}
	if s.running {
		s.poked = true
		return true
	}
	if at := later(now, s.asked.Add(f.gap())); at.Before(s.at) {
		s.at = at
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Due returns the sources to poll now, sorted, and marks them as running.
func (f *Follow) Due(now time.Time) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.sources)) {
		if s := f.sources[name]; !s.running && !s.at.After(now) {
			s.running, s.asked, s.poked = true, now, false
			out = append(out, name)
		}
	}
	return out
}

// Done records the result of a poll. The pause after failures grows up to MaxPause, or to the
// interval of the source if that is longer.
func (f *Follow) Done(name string, ok bool, now time.Time) {
	s := f.sources[name]
	if s == nil {
		return
	}
	s.running = false
	if s.fails++; ok {
		s.fails = 0
	}
	pause := s.every
	for range min(max(s.fails-1, 0), 16) {
		pause = min(2*pause, max(MaxPause, s.every))
	}
	s.turn++
	s.at = now.Add(pause - dice(name, s.turn, pause/jitterOne))
	if s.poked {
		s.at = later(now, s.asked.Add(f.gap()))
	}
}

// dice returns a pseudo-random time below most, from the name and the turn. It spreads the polls of
// many hubs and sources.
func dice(name string, turn uint64, most time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name + "\x00" + strconv.FormatUint(turn, 10)))
	return time.Duration(h.Sum64() % uint64(max(most, 1)))
}

// Next returns the time of the next poll; ok is false if there is none.
func (f *Follow) Next() (at time.Time, ok bool) {
	for _, s := range f.sources {
		if !s.running && (!ok || s.at.Before(at)) {
			at, ok = s.at, true
		}
	}
	return at, ok
}
