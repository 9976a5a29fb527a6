package claim

import (
	"math/rand/v2"
	"time"
)

// schedule knows when the next claim is due. The zero value is a process that never claimed.
type schedule struct {
	up    bool
	once  bool // a hub answered a claim of this process
	due   time.Time
	retry time.Duration
}

// connected takes that the connection to a hub begins or ends.
func (s *schedule) connected(up bool, now time.Time) {
	s.up = up
	switch soon := now.Add(rand.N(afterReconnect)); {
	case !s.once:
		s.due = now
	case up && soon.Before(s.due):
		s.due = soon
	}
}

// claimed takes how a claim ended. Hubs that are older do not answer claims, so that an agent tries
// less and less often.
func (s *schedule) claimed(err error, now time.Time) {
	if err != nil {
		s.retry = min(max(2*s.retry, firstRetry), every)
		s.due = now.Add(s.retry)
		return
	}
	s.once, s.retry = true, 0
	s.due = now.Add(every*3/4 + rand.N(every/2))
}

// wait is the time until the next claim. Without a connection there is none.
func (s *schedule) wait(now time.Time) time.Duration {
	if !s.up {
		return every
	}
	return s.due.Sub(now)
}
