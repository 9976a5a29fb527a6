package bus

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
)

// newToken is a part of a subject that nobody else has.
func newToken() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// calls are the questions that wait for their answers.
type calls struct {
	mu      sync.Mutex
	last    uint64
	waiting map[string]chan Message
}

func newCalls() *calls { return &calls{waiting: map[string]chan Message{}} }

// begin makes a new number, and the place where its answer comes; scope keeps those
// apart who must not answer for each other.
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

// answered gives a message to the question that waits for it. The first counts.
func (c *calls) answered(scope, number string, m Message) {
	c.mu.Lock()
	ch := c.waiting[scope+"."+number]
	delete(c.waiting, scope+"."+number)
	c.mu.Unlock()
	if ch != nil {
		ch <- m
	}
}

// lost says Nobody to all who wait for an answer in a scope.
func (c *calls) lost(scope string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, ch := range c.waiting {
		if strings.HasPrefix(key, scope+".") {
			delete(c.waiting, key)
			ch <- Message{Nobody: true}
		}
	}
}

// wait waits for an answer; nobody is the error where nobody hears the question.
func wait(ctx context.Context, answer <-chan Message, nobody error) ([]byte, error) {
	select {
	case m := <-answer:
		if m.Nobody {
			return nil, nobody
		}
		return openAnswer(m.Body)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
