package bus

import (
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Limits of concurrent requests. A target normally sends one request after the other; the limits
// protect the hub against other behaviour.
const (
	gateCount      = 32       // requests of one target
	gateBytes      = 4 << 20  // bytes of the requests of one target
	gateBytesOfAll = 64 << 20 // bytes of the requests of all targets
	// gateAnswers is the maximum size of the answers to one target within writeTime, in bytes. A
	// connection that does not read for writeTime is ended, so at most twice this size waits for
	// one target.
	gateAnswers = 8 << 20
)

// requestLimiter prevents that one target uses all resources of a hub.
type requestLimiter struct {
	mu  sync.Mutex
	all int
	of  map[fleet.TargetID]*load

	answered map[fleet.TargetID]int // bytes of answers, since
	since    time.Time
}

type load struct{ count, bytes int }

func newRequestLimiter() *requestLimiter {
	return &requestLimiter{of: map[fleet.TargetID]*load{}, answered: map[fleet.TargetID]int{}}
}

// enter returns true if one more request of this size may begin; leave ends it.
func (g *requestLimiter) enter(id fleet.TargetID, bytes int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.of[id]
	if l == nil {
		l = &load{}
	}
	if l.count >= gateCount || l.bytes+bytes > gateBytes || g.all+bytes > gateBytesOfAll {
		return false
	}
	l.count, l.bytes = l.count+1, l.bytes+bytes
	g.all += bytes
	g.of[id] = l
	return true
}

// answers returns true if a target may receive an answer of this size now.
func (g *requestLimiter) answers(id fleet.TargetID, bytes int, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.since).Abs() > writeTime {
		clear(g.answered)
		g.since = now
	}
	if g.answered[id]+bytes > gateAnswers {
		return false
	}
	g.answered[id] += bytes
	return true
}

func (g *requestLimiter) leave(id fleet.TargetID, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.of[id]
	l.count, l.bytes = l.count-1, l.bytes-bytes
	g.all -= bytes
	if l.count == 0 {
		delete(g.of, id)
	}
}
