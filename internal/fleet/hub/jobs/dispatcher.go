package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// dispatcher sends jobs to the agents that are connected to this hub.
type dispatcher struct {
	jobs     *records.Mirror[records.Job]
	exchange fleet.Exchange
	now      func() time.Time
	failed   func(error)
	skips    func(r records.Job, id fleet.TargetID) bool // reports whether a target does not get a job

	mu      sync.Mutex
	answers map[string]map[fleet.TargetID]records.JobAnswer // by job, not yet written
	running map[string]bool                                 // by job ID, "/" and target ID
	writing map[string]*flush                               // by job ID: the next write of its answers
	wake    chan struct{}
}

func newDispatcher(jobs *records.Mirror[records.Job], x fleet.Exchange, now func() time.Time,
	skips func(records.Job, fleet.TargetID) bool, failed func(error)) *dispatcher {
	return &dispatcher{jobs: jobs, exchange: x, now: now, skips: skips, failed: failed,
		answers: map[string]map[fleet.TargetID]records.JobAnswer{}, running: map[string]bool{},
		writing: map[string]*flush{}, wake: make(chan struct{}, 1)}
}

// deliver sends one target all its open jobs.
func (c *dispatcher) deliver(ctx context.Context, id fleet.TargetID) {
	for _, r := range c.jobs.Values() {
		if _, waits := slices.BinarySearch(r.Pending, id); waits && r.Open(c.now().Unix()) {
			c.send(ctx, r, id)
		}
		if job, ok := r.Cancellation(id); ok {
			c.cancel(ctx, job, id)
		}
	}
}

// offer sends a job to each of its targets that is connected here.
func (c *dispatcher) offer(ctx context.Context, r records.Job) {
	open := r.Open(c.now().Unix())
	if !open && r.CancelledBy == "" {
		return
	}
	for _, id := range c.exchange.Connected() {
		if _, waits := slices.BinarySearch(r.Pending, id); waits && open {
			go c.send(ctx, r, id)
		}
		if job, ok := r.Cancellation(id); ok {
			go c.cancel(ctx, job, id)
		}
	}
}

// cancel sends a cancellation to one target. The target answers later with the result. A target
// that is offline gets the cancellation when it connects again.
func (c *dispatcher) cancel(ctx context.Context, job fleet.Job, id fleet.TargetID) {
	leave, ok := c.enter(job.ID + "/" + string(id))
	if !ok {
		return
	}
	defer leave()
	if _, err := c.exchangeJob(ctx, job, id); err != nil && !errors.Is(err, fleet.ErrOffline) {
		c.failed(err)
	}
}

// enter marks a key as running. It returns false if the key is running already.
func (c *dispatcher) enter(key string) (leave func(), ok bool) {
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

// send sends a job to one target, unless that happens already. A target that does not answer gets
// the job again from remind, or when it connects again.
func (c *dispatcher) send(ctx context.Context, r records.Job, id fleet.TargetID) {
	job := r.Job
	leave, ok := c.enter(job.ID + "/" + string(id))
	if !ok {
		return
	}
	defer leave()
	if c.skips(r, id) {
		return
	}
	c.mu.Lock()
	busy := !missing(c.answers[job.ID], id)
	c.mu.Unlock()
	if busy {
		return
	}
	done, err := c.exchangeJob(ctx, expiredLate(job, c.now()), id)
	if err != nil {
		if !errors.Is(err, fleet.ErrOffline) {
			c.failed(err)
		}
		return
	}
	done.Result = nil // the agent sends the result later, see onJobAnswer
	c.note(job.ID, id, records.AnswerOf(done, c.now()))
}

// expiredLate returns a job for its delivery. A late attempt of a task must not begin, also if the clock of the target
// is behind: the target then only reports whether it began.
func expiredLate(job fleet.Job, now time.Time) fleet.Job {
	if job.Task != nil && now.Unix() >= job.Task.Expires {
		t := *job.Task
		t.Expires = 1
		job.Task = &t
	}
	return job
}

// flush is a future write of answers. err is set before done is closed.
type flush struct {
	done chan struct{}
	err  error
}

// note schedules the write of an answer. A final answer replaces an earlier acceptance, never the
// other way round: an acceptance can arrive late. The result reports when the write is done.
func (c *dispatcher) note(jobID string, id fleet.TargetID, a records.JobAnswer) *flush {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[jobID] == nil {
		c.answers[jobID] = map[fleet.TargetID]records.JobAnswer{}
	}
	if had, there := c.answers[jobID][id]; !there || !had.IsFinal() {
		c.answers[jobID][id] = a
	}
	if c.writing[jobID] == nil {
		c.writing[jobID] = &flush{done: make(chan struct{})}
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return c.writing[jobID]
}

func missing(answers map[fleet.TargetID]records.JobAnswer, id fleet.TargetID) bool {
	_, there := answers[id]
	return !there
}

func (c *dispatcher) exchangeJob(ctx context.Context, job fleet.Job, id fleet.TargetID) (fleet.JobAnswer, error) {
	body, err := json.Marshal(job)
	if err != nil {
		return fleet.JobAnswer{}, err
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	answer, err := c.exchange.Ask(ctx, id, fleet.MessageJob, body)
	if err != nil {
		return fleet.JobAnswer{}, err
	}
	var done fleet.JobAnswer
	err = json.Unmarshal(answer, &done)
	return done, err
}

// gather writes collected answers until ctx ends. Many agents answer at the same time, and each
// write stores the complete job. A failed write is repeated after writeAgain.
func (c *dispatcher) gather(ctx context.Context) error {
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

func (c *dispatcher) writeAll(ctx context.Context) (err error) {
	c.mu.Lock()
	ids := slices.Sorted(maps.Keys(c.answers))
	c.mu.Unlock()
	for _, id := range ids {
		err = errors.Join(err, c.write(ctx, id))
	}
	return err
}

// remind sends open jobs again until ctx ends: a message or its answer can be lost while the agent
// stays connected.
func (c *dispatcher) remind(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(remindEvery):
		}
		for _, r := range c.jobs.Values() {
			c.offer(ctx, r)
		}
	}
}

// writeAgain is the delay before a failed write of answers is repeated. remindEvery is longer than
// the time limit of one message to an agent.
const (
	writeAgain  = 5 * time.Second
	remindEvery = 2 * time.Minute
)

// gatherFor is the time for which answers to a small job are collected. Each further gatherMany
// targets of a job add the same time.
const (
	gatherFor  = 100 * time.Millisecond
	gatherMany = 500
)

// gatherFor returns a longer time for a larger job, because each write stores the complete job at
// each hub.
func (c *dispatcher) gatherFor() time.Duration {
	c.mu.Lock()
	ids := slices.Collect(maps.Keys(c.answers))
	c.mu.Unlock()
	most := 0
	for _, id := range ids {
		if r, _, ok := c.jobs.Get(id); ok {
			most = max(most, len(r.Pending)+len(r.Answers))
		}
	}
	return gatherFor * time.Duration(1+most/gatherMany)
}

// write stores the collected answers to a job. After an error it keeps them.
func (c *dispatcher) write(ctx context.Context, id string) error {
	c.mu.Lock()
	answers, f := maps.Clone(c.answers[id]), c.writing[id]
	delete(c.writing, id)
	c.mu.Unlock()
	_, err := c.jobs.Change(ctx, id, func(r *records.Job) error {
		r.Answered(answers)
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		err = c.jobs.Absent(ctx, id) // nil: the job was removed
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
