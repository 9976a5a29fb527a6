package agentconn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// passing is how many handshakes go on at the same time. More take as long in all, and each
	// so long that those who wait give up: what was computed for them is lost, and they come
	// again. Those who are far away take long and compute nothing meanwhile.
	passing = 128
	// passFor is after what time a handshake counts no more, so that those who begin one and
	// do not go on keep nobody out for long.
	passFor = 250 * time.Millisecond
	// waitFor is how long Admit has somebody wait before the connection ends: less than a
	// handshake may take.
	waitFor = 5 * time.Second
)

// HandshakeLimiter lets thousands of connections begin their handshakes in turn. The next turn belongs to the address with the fewest handshakes that go on, and within an
// address to the connection that has waited longest. So one address has all turns that no other
// address needs. Its methods may be called from any goroutine.
type HandshakeLimiter struct {
	wait time.Duration

	mu      sync.Mutex
	free    int                  // unused turns
	running map[netip.Prefix]int // turns of each address
	queue   []*turn              // in the order of arrival
}

// turn is a connection that waits for its turn.
type turn struct {
	from  netip.Prefix
	begin chan struct{} // closed when it has its turn
}

// NewHandshakeLimiter makes one.
func NewHandshakeLimiter() *HandshakeLimiter { return newHandshakeLimiter(passing, waitFor) }

func newHandshakeLimiter(slots int, wait time.Duration) *HandshakeLimiter {
	return &HandshakeLimiter{free: slots, wait: wait, running: map[netip.Prefix]int{}}
}

// ErrTooManyHandshakes is of a connection that waited for too long. It is ended without an alert: that
// would mean that a certificate is not believed.
var ErrTooManyHandshakes = errors.New("too many connect at once")

// admit waits until the address has a turn, which ends with free, after passFor at the latest. It
// gives up with ctx, or when the connection is closed at this end.
func (t *HandshakeLimiter) admit(ctx context.Context, c net.Conn) (free func(), err error) {
	var closed <-chan struct{}
	if b := BoundedOf(c); b != nil {
		closed = b.Done()
		defer b.patient()()
	}
	w := t.await(placeOf(addressOf(c)))
	select {
	case <-w.begin:
	case <-ctx.Done():
		t.leave(w)
		return nil, ErrTooManyHandshakes
	case <-closed:
		t.leave(w)
		return nil, ErrTooManyHandshakes
	}
	free = sync.OnceFunc(func() { t.end(w) })
	time.AfterFunc(passFor, free)
	return free, nil
}

// await joins the queue.
func (t *HandshakeLimiter) await(from netip.Prefix) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &turn{from, make(chan struct{})}
	t.queue = append(t.queue, w)
	t.next()
	return w
}

// leave leaves the queue, or ends a turn that has begun meanwhile.
func (t *HandshakeLimiter) leave(w *turn) {
	t.mu.Lock()
	i := slices.Index(t.queue, w)
	if i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 {
		t.end(w)
	}
}

func (t *HandshakeLimiter) end(w *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	if t.running[w.from]--; t.running[w.from] == 0 {
		delete(t.running, w.from)
	}
	t.next()
}

// next gives the free turns to waiting connections. It needs the lock.
func (t *HandshakeLimiter) next() {
	for t.free > 0 && len(t.queue) > 0 {
		first := 0
		for i, w := range t.queue {
			if t.running[w.from] < t.running[t.queue[first].from] {
				first = i
			}
		}
		w := t.queue[first]
		t.queue = slices.Delete(t.queue, first, first+1)
		t.free--
		t.running[w.from]++
		close(w.begin)
	}
}

// Admit is for GetConfigForClient of a tls.Config.
func (t *HandshakeLimiter) Admit(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	ctx, cancel := context.WithTimeout(hello.Context(), t.wait)
	defer cancel()
	free, err := t.admit(ctx, hello.Conn)
	switch {
	case err == nil:
		context.AfterFunc(hello.Context(), free) // it ends with the handshake
		return nil, nil
	case hello.Context().Err() != nil:
		return nil, context.Cause(hello.Context())
	}
	return nil, errors.Join(err, hello.Conn.Close())
}
