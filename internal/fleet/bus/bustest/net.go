package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
)

// Faults change the messages between agents and the hub. Messages of one subject stay in order, as
// on one connection; messages of several subjects can be reordered if their delays differ. Each
// function is called for every message, from one goroutine at a time; nil means no such fault.
type Faults struct {
	Delay     func(subject string) time.Duration
	Duplicate func(subject string) bool
	Drop      func(subject string) bool // the message is lost without an error
}

// Net is a bus of subjects in memory, with its hub.
type Net struct {
	ctx context.Context
	hub *conn
	x   *bus.Exchange

	mu     sync.Mutex
	faults Faults
	last   uint64
	conns  map[uint64]*conn
	away   map[fleet.TargetID]bool
	turn   int
	over   bool
}

// errClosed means that a connection has ended.
var errClosed = errors.New("the connection is closed")

// NewNet returns a net that runs until ctx ends.
func NewNet(ctx context.Context, f Faults) *Net {
	n := &Net{ctx: ctx, faults: f, conns: map[uint64]*conn{}, away: map[fleet.TargetID]bool{}}
	n.hub = n.connect("")
	x, err := bus.NewExchange(ctx, n.hub, func(c uint64) { go n.end(c) })
	if err != nil {
		panic(err) // the subjects are constants
	}
	n.x = x
	return n
}

// Exchange returns the hub's end.
func (n *Net) Exchange() *bus.Exchange { return n.x }

// Link returns a link of a target. It may be called several times for the same target.
func (n *Net) Link(ctx context.Context, id fleet.TargetID) *bus.Link {
	return bus.NewLink(ctx, id, func(context.Context) (bus.Connection, <-chan struct{}, error) {
		n.mu.Lock()
		away := n.away[id]
		n.mu.Unlock()
		if away {
			return nil, nil, errors.New("cannot reach the hub")
		}
		return n.Connect(id)
	}, bus.Backoff{})
}

// Connect makes one connection of a target, for a bus.Dialer that selects one of several nets.
func (n *Net) Connect(id fleet.TargetID) (bus.Connection, <-chan struct{}, error) {
	if n.stopped() {
		return nil, nil, errClosed
	}
	c := n.connect(id)
	n.x.Admit(id, c.number)
	return c, c.lost, nil
}

func (n *Net) stopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.over
}

// Stop ends all connections of targets and refuses new ones, like a hub that dies.
func (n *Net) Stop() {
	n.mu.Lock()
	n.over = true
	var ends []uint64
	for number, c := range n.conns {
		if c.id != "" {
			ends = append(ends, number)
		}
	}
	n.mu.Unlock()
	for _, number := range ends {
		n.end(number)
	}
}

// Cut ends the connections of a target. Its link reconnects.
func (n *Net) Cut(id fleet.TargetID) {
	n.mu.Lock()
	var ends []uint64
	for number, c := range n.conns {
		if c.id == id {
			ends = append(ends, number)
		}
	}
	n.mu.Unlock()
	for _, number := range ends {
		n.end(number)
	}
}

// Partition ends the connections of a target, and refuses new ones while away is true.
func (n *Net) Partition(id fleet.TargetID, away bool) {
	n.mu.Lock()
	n.away[id] = away
	n.mu.Unlock()
	if away {
		n.Cut(id)
	}
}

// SetFaults replaces the faults.
func (n *Net) SetFaults(f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = f
}

func (n *Net) connect(id fleet.TargetID) *conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	c := &conn{net: n, id: id, number: n.last, lost: make(chan struct{})}
	n.conns[c.number] = c
	return c
}

func (n *Net) end(number uint64) {
	n.mu.Lock()
	c := n.conns[number]
	delete(n.conns, number)
	if c != nil {
		close(c.lost)
	}
	n.mu.Unlock()
	if c != nil {
		n.x.Gone(number)
	}
}

// conn is one connection: a bus.Connection.
type conn struct {
	net    *Net
	id     fleet.TargetID
	number uint64
	lost   chan struct{}
	subs   []*sub // guarded by the lock of the net
}

func (c *conn) Place() (string, uint64) { return "memory", c.number }
func (c *conn) Close()                  { c.net.end(c.number) }

func (c *conn) alive() bool { return c.net.conns[c.number] != nil }

func (c *conn) Receive(subject, group string, each func(bus.Message)) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if !c.alive() {
		return errClosed
	}
	if c.id != "" && !strings.HasPrefix(subject, "f."+string(c.id)+".down.") {
		return fmt.Errorf("cannot hear %s: %w", subject, fleet.ErrDenied)
	}
	c.subs = append(c.subs, &sub{conn: c, subject: strings.Split(subject, "."), group: group, each: each,
		queues: map[string][]delivery{}})
	return nil
}

func (c *conn) Send(subject, reply string, body []byte) error {
	n := c.net
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !c.alive():
		return errClosed
	case c.id != "" && !strings.HasPrefix(subject, "f."+string(c.id)+".up."):
		return nil // like the server: the message is dropped without an error
	}
	m := bus.Message{Subject: subject, Reply: reply, Body: bytes.Clone(body)}
	if to := n.receivers(subject); len(to) > 0 {
		n.deliver(to, m)
	} else if reply != "" {
		n.deliver(n.receivers(reply), bus.Message{Subject: reply, NoReceiver: true})
	}
	return nil
}

// receivers returns the subscribers of a subject, one of each group. It must be called with the
// lock held.
func (n *Net) receivers(subject string) []*sub {
	var out []*sub
	groups := map[string][]*sub{}
	for _, c := range n.conns {
		for _, s := range c.subs {
			switch {
			case !covers(s.subject, strings.Split(subject, ".")):
			case s.group == "":
				out = append(out, s)
			default:
				groups[s.group] = append(groups[s.group], s)
			}
		}
	}
	for _, g := range groups {
		n.turn++
		out = append(out, g[n.turn%len(g)])
	}
	return out
}

func covers(pattern, subject []string) bool {
	for i, p := range pattern {
		switch {
		case i >= len(subject):
			return false
		case p == ">":
			return true
		case p != "*" && p != subject[i]:
			return false
		}
	}
	return len(pattern) == len(subject)
}

// deliver must be called with the lock held.
func (n *Net) deliver(to []*sub, m bus.Message) {
	f := n.faults
	if f.Drop != nil && f.Drop(m.Subject) {
		return
	}
	d := delivery{m: m}
	if f.Delay != nil {
		d.after = f.Delay(m.Subject)
	}
	times := 1
	if f.Duplicate != nil && f.Duplicate(m.Subject) {
		times = 2
	}
	for _, s := range to {
		for range times {
			s.add(d)
		}
	}
}

// sub is one subscription. Each subject has a queue, and a goroutine while the queue is not empty.
type sub struct {
	conn    *conn
	subject []string
	group   string
	each    func(bus.Message)
	calling sync.Mutex
	queues  map[string][]delivery // guarded by the lock of the net
}

type delivery struct {
	m     bus.Message
	after time.Duration
}

// add must be called with the lock of the net held.
func (s *sub) add(d delivery) {
	q, running := s.queues[d.m.Subject]
	s.queues[d.m.Subject] = append(q, d)
	if !running {
		go s.drain(d.m.Subject)
	}
}

func (s *sub) drain(subject string) {
	for {
		s.conn.net.mu.Lock()
		q := s.queues[subject]
		if len(q) == 0 || !s.conn.alive() {
			delete(s.queues, subject)
			s.conn.net.mu.Unlock()
			return
		}
		s.queues[subject] = q[1:]
		s.conn.net.mu.Unlock()
		if q[0].after > 0 {
			select {
			case <-time.After(q[0].after):
			case <-s.conn.net.ctx.Done():
				return
			}
		}
		s.calling.Lock()
		s.each(q[0].m)
		s.calling.Unlock()
	}
}
