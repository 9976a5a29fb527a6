package agentconn

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Budget limits the open connections of a listener, counted from the moment at which they are
// accepted.
type Budget struct {
	Most      int // open connections; 0 has no limit
	Strangers int // of these, connections that have not authenticated
	// Patience is how long a stranger may take to authenticate, or to send a request.
	Patience time.Duration
	// Queue is how long Accept waits for a place after a stranger of the same address has
	// authenticated, if that address has most places: thousands of agents behind one address
	// reconnect at once. The other connections wait in the kernel. 0 does not wait.
	Queue time.Duration
}

// Limit returns a listener that closes connections above the budget. If no place is free for a
// stranger, the address with the most strangers loses one to an address with fewer. The connections
// are *Bounded. warn receives at most one message a minute; nil receives none.
func (b Budget) Limit(l net.Listener, warn func(string)) net.Listener {
	return &bounded{Listener: l, budget: b, warn: warn, freed: make(chan struct{}, 1)}
}

type bounded struct {
	net.Listener
	budget Budget
	warn   func(string)
	freed  chan struct{} // a place may be free

	mu     sync.Mutex
	tally  tally
	seldom Seldom
}

// Accept returns the next connection within the budget.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.budget.Most <= 0 {
			return c, err
		}
		if b := l.take(c); b != nil {
			return b, nil
		}
		_ = c.Close()
	}
}

// take returns nil if there is no place for the connection.
func (l *bounded) take(c net.Conn) *Bounded {
	b := &Bounded{Conn: c, of: l, from: placeOf(addressOf(c)), stranger: true, opened: time.Now(),
		done: make(chan struct{})}
	for {
		displaced, wait, ok := l.place(b)
		if displaced != nil {
			_ = displaced.Close()
		}
		if ok {
			return b
		}
		if wait <= 0 {
			return nil
		}
		t := time.NewTimer(wait)
		select {
		case <-l.freed:
		case <-t.C:
		}
		t.Stop()
	}
}

// place counts a new connection. displaced loses its place to it, and must be closed. If there is no
// place, wait is how long one may still become free.
func (l *bounded) place(b *Bounded) (displaced *Bounded, wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.tally.room(l.budget.Most, l.budget.Strangers) {
		if l.tally.advances(b.from, l.budget.Queue, now) {
			return nil, l.budget.Queue, false
		}
		if displaced = l.tally.yields(b.from, now); displaced == nil {
			l.refused(b)
			return nil, 0, false
		}
		displaced.uncount()
	}
	l.tally.add(b)
	b.late = time.AfterFunc(l.budget.Patience, func() { _ = b.Close() })
	return displaced, 0, true
}

// refused must be called with the lock held.
func (l *bounded) refused(b *Bounded) {
	text := l.seldom.Next(fmt.Sprintf(
		"refused a connection from %s: too many connections are open (%d; %d of them without authentication)", addressOf(
			b.Conn), l.tally.open, l.tally.strangers), time.Now())
	if text != "" && l.warn != nil {
		l.warn(text)
	}
}

// Bounded is a connection that counts in a Budget until it is closed. Its methods are safe for
// concurrent use.
type Bounded struct {
	net.Conn
	of       *bounded
	from     netip.Prefix
	opened   time.Time
	late     *time.Timer
	done     chan struct{} // closed with the connection
	stranger bool          // guarded by the lock of its listener
	closed   bool          // also guarded by it
}

// Done is closed when the connection is closed at this end.
func (b *Bounded) Done() <-chan struct{} { return b.done }

// Answered ends the time limit for strangers: a request has arrived, which has its own limit.
func (b *Bounded) Answered() { b.late.Stop() }

// patient pauses the time limit of a stranger that waits for the hub. resume restarts it.
func (b *Bounded) patient() (resume func()) {
	if !b.late.Stop() {
		return func() {}
	}
	return func() {
		b.of.mu.Lock()
		defer b.of.mu.Unlock()
		if !b.closed {
			b.late.Reset(b.of.budget.Patience)
		}
	}
}

// Authenticated moves the connection out of the budget for strangers. It may be called again.
func (b *Bounded) Authenticated() {
	b.late.Stop()
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if b.stranger && !b.closed {
		b.of.tally.known(b, time.Now())
		b.stranger = false
		b.of.free()
	}
}

// free wakes an Accept that waits for a place.
func (l *bounded) free() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// Stranger reports whether the connection has not authenticated.
func (b *Bounded) Stranger() bool {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	return b.stranger
}

// Close closes the connection, and ends its count.
func (b *Bounded) Close() error {
	err := b.Conn.Close()
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.uncount()
	return err
}

// uncount must be called with the lock of its listener held.
func (b *Bounded) uncount() {
	if b.closed {
		return
	}
	b.closed = true
	close(b.done)
	b.late.Stop()
	b.of.tally.remove(b)
	b.of.free()
}

// BoundedOf returns the counted connection below c, which may be a TLS connection, or nil.
func BoundedOf(c net.Conn) *Bounded {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	b, _ := c.(*Bounded)
	return b
}

type boundedKey struct{}

// InContext makes the connection available to OfContext, for http.Server.ConnContext.
func InContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, boundedKey{}, BoundedOf(c))
}

// OfContext returns the connection of InContext, or nil.
func OfContext(ctx context.Context) *Bounded {
	b, _ := ctx.Value(boundedKey{}).(*Bounded)
	return b
}
