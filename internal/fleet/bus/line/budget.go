package line

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
	Strangers int // of these, connections that have not authenticated; one address has a quarter
	// Patience is how long a stranger may take to authenticate, or to send a request.
	Patience time.Duration
}

// Limit returns a listener that closes connections above the budget at once. Its connections are
// *Bounded. warn receives at most one message a minute; nil receives none.
func (b Budget) Limit(l net.Listener, warn func(string)) net.Listener {
	return &bounded{Listener: l, budget: b, warn: warn}
}

type bounded struct {
	net.Listener
	budget Budget
	warn   func(string)

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

func (l *bounded) take(c net.Conn) *Bounded {
	addr := addressOf(c)
	b := &Bounded{Conn: c, of: l, from: placeOf(addr), stranger: true}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.tally.add(b.from, l.budget.Most, l.budget.Strangers) {
		l.refused(addr)
		return nil
	}
	b.late = time.AfterFunc(l.budget.Patience, func() { _ = b.Close() })
	return b
}

// refused needs the lock.
func (l *bounded) refused(from netip.Addr) {
	text := l.seldom.Next(fmt.Sprintf("refused a connection from %s: too many connections are open (%d; %d of them without authentication)", from, l.tally.open, l.tally.strangers), time.Now())
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
	late     *time.Timer
	stranger bool // needs the lock of its listener
	closed   bool // as stranger
}

// Answered ends the limit of time: a request has arrived, which has its own limit.
func (b *Bounded) Answered() { b.late.Stop() }

// Authenticated moves the connection out of the budget for strangers. It may be called again.
func (b *Bounded) Authenticated() {
	b.late.Stop()
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if b.stranger && !b.closed {
		b.stranger = false
		b.of.tally.known(b.from)
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
	if !b.closed {
		b.closed = true
		b.late.Stop()
		b.of.tally.remove(b.from, b.stranger)
	}
	return err
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
