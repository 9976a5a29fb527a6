package bus

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
)

// newToken returns a random part of a subject that is unique.
func newToken() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return hex.EncodeToString(b[:])
}

// calls are the requests that wait for their answers.
type calls struct {
	mu      sync.Mutex
	last    uint64
	waiting map[string]chan Message
}

func newCalls() *calls { return &calls{waiting: map[string]chan Message{}} }

// begin returns a new number and the channel that receives its answer; end must be called when the
// caller stops waiting. Only messages of the same scope can answer.
func (c *calls) begin(scope string) (number string, answer <-chan Message, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	number = strconv.FormatUint(c.last, 10)
	key, ch := scope+"."+number, make(chan Message, 1)
	c.waiting[key] = ch
	return number, ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, key)
	}
}

// answered delivers a message to the request that waits for it. A second answer is dropped.
func (c *calls) answered(scope, number string, m Message) {
	c.mu.Lock()
	ch := c.waiting[scope+"."+number]
	delete(c.waiting, scope+"."+number)
	c.mu.Unlock()
	if ch != nil {
		ch <- m
	}
}

// lost ends the wait of all requests of a scope: each one ends with the error for a missing receiver.
func (c *calls) lost(scope string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, ch := range c.waiting {
		if strings.HasPrefix(key, scope+".") {
			delete(c.waiting, key)
			ch <- Message{NoReceiver: true}
		}
	}
}

// wait waits for an answer. If there is no receiver, it returns the given error.
func wait(ctx context.Context, answer <-chan Message, nobody error) ([]byte, error) {
	select {
	case m := <-answer:
		if m.NoReceiver {
			return nil, nobody
		}
		return openAnswer(m.Body)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
