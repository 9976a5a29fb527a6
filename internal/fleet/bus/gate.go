package bus

import (
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// What may be under way at once. A target asks one thing after the other as a rule; the
// bounds are for those that do not.
const (
	gateCount      = 32       // questions of one target
	gateBytes      = 4 << 20  // their bytes
	gateBytesOfAll = 64 << 20 // of all targets
)

// gate keeps any one target from taking all of a hub.
type gate struct {
	mu  sync.Mutex
	all int
	of  map[fleet.TargetID]*load
}

type load struct{ count, bytes int }

func newGate() *gate { return &gate{of: map[fleet.TargetID]*load{}} }

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
