package hub

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Request is something that agents were asked for, kept until all have answered or
// its time is over.
type Request struct {
	fleet.Do
	// Pending are the targets that have not answered, sorted.
	Pending []fleet.TargetID `json:"pending,omitempty"`
	// Answers are those that have.
	Answers map[fleet.TargetID]Answer `json:"answers,omitempty"`
	Expires int64                     `json:"expires"` // seconds since 1970
}

// Answer is the acknowledgement of one target.
type Answer struct {
	At    int64  `json:"at"` // seconds since 1970
	Error string `json:"error,omitempty"`
}

// answered takes answers into a request: a second one of a target changes nothing.
func (r *Request) answered(answers map[fleet.TargetID]Answer) {
	if r.Answers == nil {
		r.Answers = map[fleet.TargetID]Answer{}
	}
	for id, a := range answers {
		if i, waits := slices.BinarySearch(r.Pending, id); waits {
			r.Pending = slices.Delete(r.Pending, i, i+1)
			r.Answers[id] = a
		}
	}
}

// open tells whether a request still waits for answers.
func (r Request) open(now int64) bool { return len(r.Pending) > 0 && now < r.Expires }

// courier brings requests to the agents that are connected to this hub.
type courier struct {
	requests *mirror[Request]
	exchange fleet.Exchange
	now      func() time.Time
	failed   func(error)

	mu      sync.Mutex
	answers map[string]map[fleet.TargetID]Answer // by request, not yet written
	running map[string]bool                      // request and target, joined
	wake    chan struct{}
}

func newCourier(requests *mirror[Request], x fleet.Exchange, now func() time.Time, failed func(error)) *courier {
	return &courier{requests: requests, exchange: x, now: now, failed: failed,
		answers: map[string]map[fleet.TargetID]Answer{}, running: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// deliver asks one target for all that it has been asked for.
func (c *courier) deliver(ctx context.Context, id fleet.TargetID) {
	for _, r := range c.requests.values() {
		if _, waits := slices.BinarySearch(r.Pending, id); waits && r.open(c.now().Unix()) {
			c.ask(ctx, r.Do, id)
		}
	}
}

// offer asks every target of a request that is connected here.
func (c *courier) offer(ctx context.Context, r Request) {
	if !r.open(c.now().Unix()) {
		return
	}
	for _, id := range c.exchange.Connected() {
		if _, waits := slices.BinarySearch(r.Pending, id); waits {
			go c.ask(ctx, r.Do, id)
		}
	}
}

// ask asks one target, unless it is being asked already. Who does not answer is asked
// again when it connects anew.
func (c *courier) ask(ctx context.Context, do fleet.Do, id fleet.TargetID) {
	key := do.ID + "/" + string(id)
	c.mu.Lock()
	busy := c.running[key] || !missing(c.answers[do.ID], id)
	if !busy {
		c.running[key] = true
	}
	c.mu.Unlock()
	if busy {
		return
	}
	done, err := c.exchangeDo(ctx, do, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, key)
	if err != nil {
		if !errors.Is(err, fleet.ErrOffline) {
			c.failed(err)
		}
		return
	}
	if c.answers[do.ID] == nil {
		c.answers[do.ID] = map[fleet.TargetID]Answer{}
	}
	c.answers[do.ID][id] = Answer{At: c.now().Unix(), Error: done.Error}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func missing(answers map[fleet.TargetID]Answer, id fleet.TargetID) bool {
	_, there := answers[id]
	return !there
}

func (c *courier) exchangeDo(ctx context.Context, do fleet.Do, id fleet.TargetID) (fleet.Done, error) {
	body, err := json.Marshal(do)
	if err != nil {
		return fleet.Done{}, err
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	answer, err := c.exchange.Ask(ctx, id, fleet.WordDo, body)
	if err != nil {
		return fleet.Done{}, err
	}
	var done fleet.Done
	err = json.Unmarshal(answer, &done)
	return done, err
}

// gather writes answers together: many agents answer at once, and each write of a
// request is all of it.
func (c *courier) gather(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gatherFor):
		}
		c.mu.Lock()
		ids := slices.Sorted(maps.Keys(c.answers))
		c.mu.Unlock()
		for _, id := range ids {
			c.write(ctx, id)
		}
	}
}

// gatherFor is how long answers wait for others.
const gatherFor = 100 * time.Millisecond

func (c *courier) write(ctx context.Context, id string) {
	c.mu.Lock()
	answers := maps.Clone(c.answers[id])
	c.mu.Unlock()
	_, err := c.requests.change(ctx, id, func(r *Request) error {
		r.answered(answers)
		return nil
	})
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		c.failed(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for target := range answers {
		delete(c.answers[id], target)
	}
	if len(c.answers[id]) == 0 {
		delete(c.answers, id)
	}
}
