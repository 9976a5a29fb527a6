package hub

import (
	"errors"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// stuckAfter is how long a leader may write nothing, since the store does not answer it, until
// it gives up its lease. standAsideFor is how long it then lets others lead.
const (
	stuckAfter    = 30 * time.Second
	standAsideFor = 30 * time.Second
)

// errStuck is of a leader that makes no progress.
var errStuck = errors.New("the store does not answer this hub, so that another one has to lead")

// progress is when a leader wrote something last.
type progress struct {
	mu sync.Mutex
	at time.Time
}

func (p *progress) made(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = now
}

// isStuck tells whether a leader that ended with an error gives up. Only a store that does not
// answer is a reason: other errors are the same for each hub that leads.
func (p *progress) isStuck(err error, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Is(err, fleet.ErrNoAnswer) && now.Sub(p.at) >= stuckAfter
}
