package leader

import (
	"sync"

	"fettle.dev/fettle/internal/fleet/assign"
)

// queue collects events for the leader. It needs no limit: the number of objects that cause events
// is bounded, and folding is fast.
type queue struct {
	mu     sync.Mutex
	events []assign.Event
	wake   chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) add(e assign.Event) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() []assign.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.events
	q.events = nil
	return all
}
