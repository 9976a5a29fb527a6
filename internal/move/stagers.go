package move

import (
	"path"
	"runtime"
	"sync"

	"fettle.dev/fettle/internal/image"
)

// Files of a large batch are written by several at once. crowd is from how many
// moves on, armful how many files of one directory one of them takes at a time.
const (
	minParallelMoves = 128
	armful           = 64
)

// stagers stages moves. Directories and other files that are not regular are staged at once, in order.
// Regular files are also staged at once in a small batch, and by workers in a large one.
type stagers struct {
	b       *Batch
	armful  []*Move
	todo    chan []*Move // nil: there are no workers
	workers sync.WaitGroup

	mu     sync.Mutex
	failed *Error // of the moves that failed, the first; by mu
}

func (b *Batch) newStagers() *stagers {
	c := &stagers{b: b}
	n := min(runtime.GOMAXPROCS(0), 4)
	if len(b.Moves) < minParallelMoves || n < 2 {
		return c
	}
	c.todo = make(chan []*Move)
	for range n {
		c.workers.Go(func() {
			for moves := range c.todo {
				c.each(moves)
			}
		})
	}
	return c
}

// stage stages one move; false means that a move has failed and the caller should stop.
func (c *stagers) stage(m *Move) bool {
	file := m.To.Type == image.Regular && m.Validate == nil
	if c.todo == nil || !file {
		return c.each([]*Move{m})
	}
	if n := len(c.armful); n == armful || n > 0 && path.Dir(c.armful[0].Path) != path.Dir(m.Path) {
		c.hand()
	}
	c.armful = append(c.armful, m)
	return !c.stopped()
}

func (c *stagers) hand() {
	if len(c.armful) > 0 {
		c.todo <- c.armful
		c.armful = nil
	}
}

func (c *stagers) each(moves []*Move) bool {
	for _, m := range moves {
		if c.stopped() {
			return false
		}
		if err := c.b.stage(m); err != nil {
			c.fail(&Error{m.Change, m.Path, "write", err})
			return false
		}
	}
	return true
}

func (c *stagers) fail(err *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil || err.Change < c.failed.Change {
		c.failed = err
	}
}

func (c *stagers) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed != nil
}

// wait ends the crew and returns the failed move.
func (c *stagers) wait() error {
	if c.todo != nil {
		c.hand()
		close(c.todo)
		c.workers.Wait()
	}
	if c.failed != nil {
		return c.failed
	}
	return nil
}
