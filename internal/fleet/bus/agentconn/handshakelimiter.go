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
	// passing is the number of concurrent handshakes. More handshakes have the same throughput, but
	// each takes so long that clients give up and repeat it. Distant clients take long, but use no
	// CPU while they wait.
	passing = 128
	// passFor is the time after which a handshake no longer counts. Clients that begin a handshake
	// and then do nothing therefore do not block others for long.
	passFor = 250 * time.Millisecond
	// waitFor is how long Admit lets a connection wait before it ends the connection: less than the
	// time limit of a handshake.
	waitFor = 5 * time.Second
)

// HandshakeLimiter limits the number of concurrent handshakes; more connections wait for a turn.
// The next turn is given to the address with the fewest running handshakes, and within an address
// to the connection that has waited longest. One address therefore has all turns that no other
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
	begin chan struct{} // closed when the turn begins
}

// NewHandshakeLimiter returns a limiter without running handshakes.
func NewHandshakeLimiter() *HandshakeLimiter { return newHandshakeLimiter(passing, waitFor) }

func newHandshakeLimiter(slots int, wait time.Duration) *HandshakeLimiter {
	return &HandshakeLimiter{free: slots, wait: wait, running: map[netip.Prefix]int{}}
}

// ErrTooManyHandshakes means that a connection waited for too long. It is ended without a TLS
// alert: an alert would mean that the certificate is not accepted.
var ErrTooManyHandshakes = errors.New("too many concurrent handshakes")

// admit waits until the address has a turn. The turn ends when free is called, at the latest after
// passFor. admit returns an error when ctx ends, or when the connection is closed at this end.
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

// leave leaves the queue, or ends the turn if it has begun.
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

// next gives the free turns to waiting connections. It must be called with the lock held.
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

// Admit waits for a turn. It is for GetConfigForClient of a tls.Config.
func (t *HandshakeLimiter) Admit(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	ctx, cancel := context.WithTimeout(hello.Context(), t.wait)
	defer cancel()
	free, err := t.admit(ctx, hello.Conn)
	switch {
	case err == nil:
		context.AfterFunc(hello.Context(), free) // the turn ends with the handshake
		return nil, nil
	case hello.Context().Err() != nil:
		return nil, context.Cause(hello.Context())
	}
	return nil, errors.Join(err, hello.Conn.Close())
}
