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

// courier brings requests to the agents that are connected to this hub.
type courier struct {
	requests *mirror[Request]
	exchange fleet.Exchange
	now      func() time.Time
	failed   func(error)
	skips    func(id fleet.TargetID) bool // tells whether a target gets no jobs

	mu      sync.Mutex
	answers map[string]map[fleet.TargetID]Answer // by request, not yet written
	running map[string]bool                      // request and target, joined
	writing map[string]*flush                    // by request, of what is not yet written
	wake    chan struct{}
}

func newCourier(requests *mirror[Request], x fleet.Exchange, now func() time.Time, skips func(fleet.TargetID) bool, failed func(error)) *courier {
	return &courier{requests: requests, exchange: x, now: now, skips: skips, failed: failed,
		answers: map[string]map[fleet.TargetID]Answer{}, running: map[string]bool{}, writing: map[string]*flush{}, wake: make(chan struct{}, 1)}
}

// deliver asks one target for all that it has been asked for.
func (c *courier) deliver(ctx context.Context, id fleet.TargetID) {
	for _, r := range c.requests.values() {
		if _, waits := slices.BinarySearch(r.Pending, id); waits && r.open(c.now().Unix()) {
			c.ask(ctx, r.Do, id)
		}
		if do, ok := r.withdrawal(id); ok {
			c.withdraw(ctx, do, id)
		}
	}
}

// offer asks every target of a request that is connected here.
func (c *courier) offer(ctx context.Context, r Request) {
	open := r.open(c.now().Unix())
	if !open && r.Withdrawn == "" {
		return
	}
	for _, id := range c.exchange.Connected() {
		if _, waits := slices.BinarySearch(r.Pending, id); waits && open {
			go c.ask(ctx, r.Do, id)
		}
		if do, ok := r.withdrawal(id); ok {
			go c.withdraw(ctx, do, id)
		}
	}
}

// withdraw tells one target that it need not begin. It answers in its own time, with how
// the request ended; who does not hear of it now is told when it connects anew.
func (c *courier) withdraw(ctx context.Context, do fleet.Do, id fleet.TargetID) {
	leave, ok := c.enter(do.ID + "/" + string(id))
	if !ok {
		return
	}
	defer leave()
	if _, err := c.exchangeDo(ctx, do, id); err != nil && !errors.Is(err, fleet.ErrOffline) {
		c.failed(err)
	}
}

// enter is false where the same is under way already.
func (c *courier) enter(key string) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[key] {
		return nil, false
	}
	c.running[key] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, key)
	}, true
}

// ask asks one target, unless it is being asked already. A target that does not answer is asked
// again by remind, or when it connects again.
func (c *courier) ask(ctx context.Context, do fleet.Do, id fleet.TargetID) {
	leave, ok := c.enter(do.ID + "/" + string(id))
	if !ok {
		return
	}
	defer leave()
	if c.skips(id) {
		return
	}
	c.mu.Lock()
	busy := !missing(c.answers[do.ID], id)
	c.mu.Unlock()
	if busy {
		return
	}
	done, err := c.exchangeDo(ctx, do, id)
	if err != nil {
		if !errors.Is(err, fleet.ErrOffline) {
			c.failed(err)
		}
		return
	}
	done.Result = nil // an end is told in its own time, see onDone
	c.note(do.ID, id, answerOf(done, c.now()))
}

// flush is a write of answers to come; err is set before done is closed.
type flush struct {
	done chan struct{}
	err  error
}

// note has an answer written soon. An end stays where a
// late word comes that it was taken.
func (c *courier) note(request string, id fleet.TargetID, a Answer) *flush {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[request] == nil {
		c.answers[request] = map[fleet.TargetID]Answer{}
	}
	if had, there := c.answers[request][id]; !there || !had.isFinal() {
		c.answers[request][id] = a
	}
	if c.writing[request] == nil {
		c.writing[request] = &flush{done: make(chan struct{})}
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return c.writing[request]
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
// request is all of it. Answers that could not be written are written later.
func (c *courier) gather(ctx context.Context) error {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-again:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.gatherFor()):
		}
		again = nil
		if err := c.writeAll(ctx); err != nil && ctx.Err() == nil {
			c.failed(err)
			again = time.After(writeAgain)
		}
	}
}

func (c *courier) writeAll(ctx context.Context) (err error) {
	c.mu.Lock()
	ids := slices.Sorted(maps.Keys(c.answers))
	c.mu.Unlock()
	for _, id := range ids {
		err = errors.Join(err, c.write(ctx, id))
	}
	return err
}

// remind repeats the questions that were not answered: a question or its answer can be lost while
// the agent stays connected.
func (c *courier) remind(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(remindEvery):
		}
		for _, r := range c.requests.values() {
			c.offer(ctx, r)
		}
	}
}

// writeAgain is the time until answers that could not be written are written again. remindEvery is
// longer than a question waits for its answer.
const (
	writeAgain  = 5 * time.Second
	remindEvery = 2 * time.Minute
)

// gatherFor is how long answers wait for others, and gatherMany of how many targets a
// request makes that as long once more.
const (
	gatherFor  = 100 * time.Millisecond
	gatherMany = 500
)

// gatherFor is longer for what is larger: each write of a request is all of it, at each hub.
func (c *courier) gatherFor() time.Duration {
	c.mu.Lock()
	ids := slices.Collect(maps.Keys(c.answers))
	c.mu.Unlock()
	most := 0
	for _, id := range ids {
		if r, _, ok := c.requests.get(id); ok {
			most = max(most, len(r.Pending)+len(r.Answers))
		}
	}
	return gatherFor * time.Duration(1+most/gatherMany)
}

// write writes the answers to a request. After an error they are kept.
func (c *courier) write(ctx context.Context, id string) error {
	c.mu.Lock()
	answers, f := maps.Clone(c.answers[id]), c.writing[id]
	delete(c.writing, id)
	c.mu.Unlock()
	_, err := c.requests.change(ctx, id, func(r *Request) error {
		r.answered(answers)
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		err = absent(ctx, c.requests.store, c.requests.prefix+id) // nil: nobody asks for it any more
	}
	if f != nil {
		f.err = err
		close(f.done)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for target, a := range answers {
		if c.answers[id][target] == a {
			delete(c.answers[id], target)
		}
	}
	if len(c.answers[id]) == 0 {
		delete(c.answers, id)
	}
	return nil
}
