package repository

import (
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// pinned knows the refs to which targets are pinned. The zero value is ready.
type pinned struct {
	mu  sync.Mutex
	all map[string]string // ref by target ID
}

// changed stores the pin of a target; the zero value means that the target was removed. It reports
// whether the set of followed refs may change. Most changes of targets do not, and collecting the
// refs of all targets after each of them is too slow in a large fleet.
func (p *pinned) changed(key string, t fleet.Target) bool {
	ref := ""
	if t.Pin != nil && t.Standing == fleet.Active {
		ref = t.Pin.Ref
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[key] == ref {
		return false
	}
	if p.all == nil {
		p.all = map[string]string{}
	}
	if p.all[key] = ref; ref == "" {
		delete(p.all, key)
	}
	return true
}
