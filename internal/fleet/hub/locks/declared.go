package locks

import (
	"sync"

	"fettle.dev/fettle/internal/fleet/coordination"
)

// declared are the locks of the newest commit that the leading hub read. The mutex protects the fields above it.
type declared struct {
	all   []coordination.Definition
	known bool // a commit was read
	mu    sync.Mutex
	wake  chan struct{} // has a value after set and poke
}

func (d *declared) set(all []coordination.Definition) {
	d.mu.Lock()
	d.all, d.known = all, true
	d.mu.Unlock()
	d.poke()
}

// poke ends the wait of Run.
func (d *declared) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *declared) get() (all []coordination.Definition, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all, d.known
}
