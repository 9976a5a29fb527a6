package waits

import (
	"sync"

	"fettle.dev/fettle/internal/lang/query"
)

// declared are the barriers and signals of the newest commit that the leading hub read. The mutex protects the fields
// above it.
type declared struct {
	all   query.Coordination
	known bool // a commit was read
	mu    sync.Mutex
	wake  chan struct{} // has a value after set and poke
}

// poke ends the wait of Run.
func (d *declared) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *declared) set(all query.Coordination) {
	d.mu.Lock()
	d.all, d.known = all, true
	d.mu.Unlock()
	d.poke()
}

func (d *declared) get() (all query.Coordination, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all, d.known
}
