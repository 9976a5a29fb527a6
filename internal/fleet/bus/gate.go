package bus

import (
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// What may be under way at once. A target asks one thing after the other as a rule; the
// bounds are for those that do not.
const (
	gateCount      = 32       // questions of one target
	gateBytes      = 4 << 20  // their bytes
	gateBytesOfAll = 64 << 20 // of all targets
	// gateAnswers is how many bytes one target is answered within writeTime, after which a
	// connection that does not read is ended: what waits for one is twice that at most.
	gateAnswers = 8 << 20
)

// gate keeps any one target from taking all of a hub.
type gate struct {
	mu  sync.Mutex
	all int
	of  map[fleet.TargetID]*load

	answered map[fleet.TargetID]int // bytes, since
	since    time.Time
}

type load struct{ count, bytes int }

func newGate() *gate {
	return &gate{of: map[fleet.TargetID]*load{}, answered: map[fleet.TargetID]int{}}
}

// enter tells whether one more question of some bytes may begin; leave ends it.
func (g *gate) enter(id fleet.TargetID, bytes int) bool {
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

// answers tells whether a target may have an answer of some bytes now.
func (g *gate) answers(id fleet.TargetID, bytes int, now time.Time) bool {
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

func (g *gate) leave(id fleet.TargetID, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.of[id]
	l.count, l.bytes = l.count-1, l.bytes-bytes
	g.all -= bytes
	if l.count == 0 {
		delete(g.of, id)
	}
}
