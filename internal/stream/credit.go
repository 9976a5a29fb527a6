package stream

import "sync"

// Credit is the right of a sender to send bytes for which the receiver has room. To cancel a Take,
// close the credit.
type Credit struct {
	mu      sync.Mutex
	changed sync.Cond
	taken   uint64 // bytes
	allowed uint64 // bytes, since the beginning
	err     error
}

// NewCredit returns a credit of n bytes.
func NewCredit(n int) *Credit {
	c := &Credit{allowed: uint64(n)}
	c.changed.L = &c.mu
	return c
}

// Take waits for credit, and takes 1 to n bytes of it. offset is the number of bytes that were taken
// before. After Close, Take returns the error that Close was given.
func (c *Credit) Take(n int) (taken int, offset uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.allowed == c.taken && c.err == nil {
		c.changed.Wait()
	}
	if c.err != nil {
		return 0, 0, c.err
	}
	taken, offset = int(min(c.allowed-c.taken, uint64(n))), c.taken
	c.taken += uint64(taken)
	return taken, offset, nil
}

// Grant allows bytes up to an offset. A repeated or older grant has no effect.
func (c *Credit) Grant(upTo uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed = max(c.allowed, upTo)
	c.changed.Broadcast()
}

// Add allows n more bytes, and at most that many bytes in total.
func (c *Credit) Add(n, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed = max(c.allowed, min(c.allowed+uint64(n), c.taken+uint64(most)))
	c.changed.Broadcast()
}

// Close ends all calls of Take with an error. The first error is kept. It returns the number of bytes
// that were taken.
func (c *Credit) Close(err error) (taken uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.changed.Broadcast()
	return c.taken
}
