package leader

import (
	"errors"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// stuckAfter is the time after which a leader gives up its lease because the store does not answer.
// Afterwards it does not try to lead for standAsideFor, so that another hub can.
const (
	stuckAfter    = 30 * time.Second
	standAsideFor = 30 * time.Second
)

// errStuck is the error of a leader that makes no progress.
var errStuck = errors.New("the store does not answer this hub, so this hub lets another hub lead")

// progress stores the time of the last successful write of a leader.
type progress struct {
	mu sync.Mutex
	at time.Time
}

func (p *progress) made(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = now
}

// isStuck reports whether a leader must give up after an error. Only a store that does not answer
// is a reason: other errors would be the same on each hub.
func (p *progress) isStuck(err error, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Is(err, fleet.ErrNoAnswer) && now.Sub(p.at) >= stuckAfter
}
