// Package slots asks the agent of a host for slots of locks, for runs.
//
//	c := &slots.Client{Dial: dial, Clock: clock}
//	held, err := c.Acquire(ctx, []string{"db-migrate"}, show)
//	defer held.Release()
//
// Client and agent exchange JSON documents over a stream, see internal/executor/agentsocket: the client sends Requests,
// the agent Answers. The agent renews the leases while the stream is open. If the stream ends without a release, the
// run may be unfinished: the agent no longer renews the leases, and releases the slots when no run is unfinished.
package slots

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/hint"
)

// Request is a request of a run.
type Request struct {
	// Acquire are the names of locks. Wait limits the time for all slots.
	Acquire []string      `json:"acquire,omitempty"`
	Wait    time.Duration `json:"wait_ns,omitempty"`
	// Held are the tokens of slots that the run already has: another process of the agent granted them. If the agent
	// cannot renew their leases, it does not release them.
	Held    map[string]uint64 `json:"held,omitempty"`
	Release bool              `json:"release,omitempty"`
}

// Answer is an answer of the agent. One field is set, Until also with Granted.
type Answer struct {
	Waiting string            `json:"waiting,omitempty"` // why no slot is granted now
	Granted map[string]uint64 `json:"granted,omitempty"` // the token of each lock
	// Until is the time at which the run must stop, by the clock of the host since its boot, in ns. It is earlier than
	// the end of the lease.
	Until    time.Duration `json:"until_ns,omitempty"`
	Error    string        `json:"error,omitempty"`
	Released bool          `json:"released,omitempty"`
}

// Client implements executor.Locks.
type Client struct {
	// Dial begins a conversation with the agent about slots.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
	// Ask sends a Question to the agent, and returns a list of Descriptions; nil: plans do not describe locks.
	Ask func(ctx context.Context, question []byte) ([]byte, error)
	// Clock returns the time since the boot of the host, which also advances while the host sleeps.
	Clock func() time.Duration
	// Every is the time between two looks at the clock, and between two attempts to connect again; 0 is 250 ms.
	Every time.Duration
}

var _ executor.Locks = (*Client)(nil)

// The intervals of a client.
const (
	defaultEvery = 250 * time.Millisecond
	releaseTime  = 30 * time.Second
)

// Acquire implements executor.Locks.
func (c *Client) Acquire(ctx context.Context, names []string, show func(string)) (executor.Slots, error) {
	conn, first, err := c.acquire(ctx, Request{Acquire: names, Wait: executor.LockWait}, show)
	if err != nil {
		next := "Try again later, or run without the locks: --without-locks"
		if errors.Is(err, agentsocket.ErrNoAgent) {
			next = "Start the agent, or enrol the host in a fleet. To run without the locks: --without-locks"
		}
		return nil, hint.With(fmt.Errorf("%w: cannot begin a run that needs %s: %w", executor.ErrNoSlot,
			strings.Join(names, ", "), err), next)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &held{client: c, names: names, tokens: first.Granted, every: cmp.Or(c.Every, defaultEvery),
		lost: make(chan struct{}), conn: conn, until: first.Until,
		cancel: cancel, released: make(chan struct{}, 1)}
	h.work.Add(2)
	go func() { defer h.work.Done(); h.follow(ctx) }()
	go func() { defer h.work.Done(); h.watch(ctx) }()
	return h, nil
}

// acquire sends a request, and returns the connection after the grant.
func (c *Client) acquire(ctx context.Context, r Request, show func(string)) (*connection, Answer, error) {
	rw, err := c.Dial(ctx)
	if err != nil {
		return nil, Answer{}, err
	}
	conn := &connection{ReadWriteCloser: rw, in: json.NewDecoder(rw)}
	stop := context.AfterFunc(ctx, func() { _ = rw.Close() })
	defer stop()
	told, err := "", conn.send(r)
	for err == nil {
		var a Answer
		switch err = conn.in.Decode(&a); {
		case err != nil:
		case a.Error != "":
			err = errors.New(a.Error)
		case len(a.Granted) > 0:
			if !stop() {
				return nil, a, errors.Join(ctx.Err(), conn.Close())
			}
			return conn, a, nil
		case a.Waiting != told:
			told = a.Waiting
			show(told)
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return nil, Answer{}, errors.Join(err, conn.Close())
}

// connection is a stream to the agent.
type connection struct {
	io.ReadWriteCloser
	in *json.Decoder
}

func (c *connection) send(r Request) error {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = c.Write(append(b, '\n'))
	}
	return err
}

// held implements executor.Slots.
type held struct {
	client   *Client
	names    []string
	tokens   map[string]uint64
	every    time.Duration
	lost     chan struct{}
	cancel   func()
	released chan struct{} // an answer to the release was received
	work     sync.WaitGroup

	mu    sync.Mutex
	conn  *connection // nil while there is no connection
	until time.Duration
	gone  bool // the agent refused a renewal
}

// Tokens implements executor.Slots.
func (h *held) Tokens() map[string]uint64 { return h.tokens }

// Lost implements executor.Slots.
func (h *held) Lost() <-chan struct{} { return h.lost }

// Release implements executor.Slots.
func (h *held) Release() {
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	select {
	case <-h.released: // of an earlier connection
	default:
	}
	if conn != nil && conn.send(Request{Release: true}) == nil {
		select {
		case <-h.released:
		case <-time.After(releaseTime): // the agent releases the slots later
		}
	}
	h.cancel()
	if h.mu.Lock(); h.conn != nil {
		_ = h.conn.Close()
	}
	h.mu.Unlock()
	h.work.Wait()
}

// follow reads renewals. If the agent ends, it asks the next process of the agent for the same slots.
func (h *held) follow(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		conn := h.conn
		h.mu.Unlock()
		if conn == nil {
			conn = h.again(ctx)
		}
		var a Answer
		if conn == nil || conn.in.Decode(&a) != nil {
			h.mu.Lock()
			h.conn = nil
			h.mu.Unlock()
			h.note()
			select {
			case <-ctx.Done():
			case <-time.After(h.every):
			}
			continue
		}
		h.heard(a)
	}
}

// heard applies an answer.
func (h *held) heard(a Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case a.Released:
		h.note()
	case a.Error != "":
		h.gone = true
	case len(a.Granted) > 0:
		h.renewed(a)
	}
}

// renewed is called with the mutex.
func (h *held) renewed(a Answer) {
	for _, name := range h.names {
		h.gone = h.gone || a.Granted[name] != h.tokens[name] // another owner may have had the slot meanwhile
	}
	h.until = a.Until
}

// note ends the wait of Release.
func (h *held) note() {
	select {
	case h.released <- struct{}{}:
	default:
	}
}

// again connects to the agent again. It returns nil if the agent does not grant the slots.
func (h *held) again(ctx context.Context) *connection {
	conn, a, err := h.client.acquire(ctx, Request{Acquire: h.names, Held: h.tokens}, func(string) {})
	if err != nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn = conn
	h.renewed(a)
	return conn
}

// watch closes lost when the run must stop.
func (h *held) watch(ctx context.Context) {
	for {
		h.mu.Lock()
		over := h.gone || h.client.Clock() >= h.until
		h.mu.Unlock()
		if over {
			close(h.lost)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(h.every):
		}
	}
}
