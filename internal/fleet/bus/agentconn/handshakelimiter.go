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
	// passFor is the time after which another address takes the turn of a handshake. Clients that
	// begin a handshake and then do nothing therefore do not block other addresses for long.
	passFor = 250 * time.Millisecond
	// ownFor is the time after which a handshake no longer counts, if no agent of its address has
	// authenticated within this time. While some do, the hub is slow, and more handshakes would make
	// it slower: thousands of agents would compete for the CPU, and exceed their time limit together.
	ownFor = 2 * time.Second
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
	free    int                     // unused turns
	running map[netip.Prefix]*turns // addresses with turns
	slow    []*turn                 // turns that have lasted for passFor, which another address may take
	queue   []*turn                 // in the order of arrival
}

// turns are the turns of an address.
type turns struct {
	count    int
	progress time.Time // the last time when an agent authenticated
}

// turn is a connection that waits for its turn, or has it.
type turn struct {
	from  netip.Prefix
	begin chan struct{} // closed when the turn begins
	ended bool          // guarded by the lock of its limiter
}

// NewHandshakeLimiter returns a limiter without running handshakes.
func NewHandshakeLimiter() *HandshakeLimiter { return newHandshakeLimiter(passing, waitFor) }

func newHandshakeLimiter(slots int, wait time.Duration) *HandshakeLimiter {
	return &HandshakeLimiter{free: slots, wait: wait, running: map[netip.Prefix]*turns{}}
}

// ErrTooManyHandshakes means that a connection waited for too long. It is ended without a TLS
// alert: an alert would mean that the certificate is not accepted.
var ErrTooManyHandshakes = errors.New("too many concurrent handshakes")

// admit waits until the address has a turn. The turn ends when free is called, after passFor if
// another address needs it, and after ownFor if the address makes no progress. admit returns an
// error when ctx ends, or when the connection is closed at this end.
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
	slow := time.AfterFunc(passFor, func() { t.offer(w) })
	late := time.AfterFunc(ownFor, func() { t.expire(w) })
	return func() { slow.Stop(); late.Stop(); t.end(w) }, nil
}

// await joins the queue.
func (t *HandshakeLimiter) await(from netip.Prefix) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &turn{from: from, begin: make(chan struct{})}
	t.queue = append(t.queue, w)
	t.next()
	return w
}

// Waiting returns the number of connections that wait for their turn.
func (t *HandshakeLimiter) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue)
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

// end ends a turn. It may be called again.
func (t *HandshakeLimiter) end(w *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release(w)
	t.next()
}

// offer lets another address take a turn.
func (t *HandshakeLimiter) offer(w *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !w.ended {
		t.slow = append(t.slow, w)
		t.next()
	}
}

// expire ends a turn when its address makes no progress.
func (t *HandshakeLimiter) expire(w *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.ended {
		return
	}
	if left := ownFor - time.Since(t.running[w.from].progress); left > 0 {
		time.AfterFunc(left, func() { t.expire(w) })
		return
	}
	t.release(w)
	t.next()
}

// authenticated records that an agent has authenticated, before its turn ends.
func (t *HandshakeLimiter) authenticated(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.running[placeOf(addressOf(c))]; of != nil {
		of.progress = time.Now()
	}
}

// count returns the number of turns of an address. It must be called with the lock held.
func (t *HandshakeLimiter) count(from netip.Prefix) int {
	if of := t.running[from]; of != nil {
		return of.count
	}
	return 0
}

// release must be called with the lock held.
func (t *HandshakeLimiter) release(w *turn) {
	if w.ended {
		return
	}
	w.ended = true
	t.free++
	if t.running[w.from].count--; t.running[w.from].count == 0 {
		delete(t.running, w.from)
	}
	if i := slices.Index(t.slow, w); i >= 0 {
		t.slow = slices.Delete(t.slow, i, i+1)
	}
}

// take ends a slow turn of another address than from. It must be called with the lock held.
func (t *HandshakeLimiter) take(from netip.Prefix) bool {
	i := slices.IndexFunc(t.slow, func(w *turn) bool { return w.from != from })
	if i < 0 {
		return false
	}
	t.release(t.slow[i])
	return true
}

// next gives the free turns, and slow turns of other addresses, to waiting connections. It must be
// called with the lock held.
func (t *HandshakeLimiter) next() {
	for len(t.queue) > 0 {
		first := 0
		for i, w := range t.queue {
			if t.count(w.from) < t.count(t.queue[first].from) {
				first = i
			}
		}
		w := t.queue[first]
		if t.free == 0 && !t.take(w.from) {
			return
		}
		t.queue = slices.Delete(t.queue, first, first+1)
		t.free--
		if t.running[w.from] == nil {
			t.running[w.from] = &turns{}
		}
		t.running[w.from].count++
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
