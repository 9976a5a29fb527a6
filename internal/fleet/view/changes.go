package view

import "sync"

// changes contains the numbers of the targets whose rows changed since the last take. Before the first take, these are
// all. A transaction is added after its end: a reader that is faster sees the new rows, and reads them again.
type changes struct {
	mu      sync.Mutex
	tracked bool // otherwise all have changed
	targets map[int64]bool
}

// add adds some targets, or all.
func (c *changes) add(targets []int64, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all {
		c.tracked, c.targets = false, nil
	}
	for i := 0; i < len(targets) && c.tracked; i++ {
		c.targets[targets[i]] = true
	}
}

func (c *changes) take() (all bool, targets map[int64]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, targets = !c.tracked, c.targets
	c.tracked, c.targets = true, map[int64]bool{}
	return all, targets
}
