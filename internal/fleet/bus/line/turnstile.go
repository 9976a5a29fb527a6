package line

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
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

// Turnstile lets those who connect begin their handshakes in turn, when thousands come at
// once: one to a Door before their connection is taken from the kernel, which keeps a queue
// that costs nothing, and one elsewhere by Admit. One address has at most a quarter of the
// handshakes. Its methods may be called from any goroutine.
type Turnstile struct {
	slots chan struct{}
	wait  time.Duration

	mu  sync.Mutex
	all map[netip.Prefix]*share
}

// share limits the handshakes of one address.
type share struct {
	slots chan struct{}
	users int // connections that use or await a slot
}

// NewTurnstile makes one.
func NewTurnstile() *Turnstile { return newTurnstile(passing, waitFor) }

func newTurnstile(slots int, wait time.Duration) *Turnstile {
	return &Turnstile{slots: make(chan struct{}, slots), wait: wait, all: map[netip.Prefix]*share{}}
}

// ErrCrowd is of a connection that waited for too long. It is ended without an alert: that
// would mean that a certificate is not believed.
var ErrCrowd = errors.New("too many connect at once")

// enter waits for a slot, which free releases, and gives up with done.
func (t *Turnstile) enter(done <-chan struct{}) (free func(), ok bool) {
	select {
	case t.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-t.slots }), true
	case <-done:
		return nil, false
	}
}

// turn keeps the slot of enter if the address has a share left. Otherwise it releases the slot,
// and waits until both are free. The slot is released after passFor at the latest.
func (t *Turnstile) turn(c net.Conn, had func()) (free func(), err error) {
	from := placeOf(addressOf(c))
	if release := t.share(from, nil); release != nil {
		free = sync.OnceFunc(func() { had(); release() })
		time.AfterFunc(passFor, free)
		return free, nil
	}
	had()
	ctx, cancel := context.WithTimeout(context.Background(), t.wait)
	defer cancel()
	return t.admit(ctx, from)
}

// admit waits for a slot and a share of the address, until ctx ends.
func (t *Turnstile) admit(ctx context.Context, from netip.Prefix) (free func(), err error) {
	release := t.share(from, ctx.Done())
	if release == nil {
		return nil, ErrCrowd
	}
	left, ok := t.enter(ctx.Done())
	if !ok {
		release()
		return nil, ErrCrowd
	}
	free = sync.OnceFunc(func() { left(); release() })
	time.AfterFunc(passFor, free)
	return free, nil
}

// share takes one of the slots of an address, and returns nil if there is none until done is
// closed; nil does not wait. An unknown address has no limit of its own.
func (t *Turnstile) share(from netip.Prefix, done <-chan struct{}) (release func()) {
	if !from.IsValid() {
		return func() {}
	}
	s := t.join(from)
	if done == nil {
		now := make(chan struct{})
		close(now)
		done = now
	}
	select {
	case s.slots <- struct{}{}: // a free slot is always taken
		return func() { <-s.slots; t.leave(from, s) }
	default:
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots; t.leave(from, s) }
	case <-done:
		t.leave(from, s)
		return nil
	}
}

func (t *Turnstile) join(from netip.Prefix) *share {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.all[from]
	if s == nil {
		s = &share{slots: make(chan struct{}, max(1, cap(t.slots)/addresses))}
		t.all[from] = s
	}
	s.users++
	return s
}

func (t *Turnstile) leave(from netip.Prefix, s *share) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(t.all, from)
	}
}

// Admit is for GetConfigForClient of a tls.Config.
func (t *Turnstile) Admit(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	ctx, cancel := context.WithTimeout(hello.Context(), t.wait)
	defer cancel()
	free, err := t.admit(ctx, placeOf(addressOf(hello.Conn)))
	switch {
	case err == nil:
		context.AfterFunc(hello.Context(), free) // it ends with the handshake
		return nil, nil
	case hello.Context().Err() != nil:
		return nil, context.Cause(hello.Context())
	}
	return nil, errors.Join(err, hello.Conn.Close())
}
