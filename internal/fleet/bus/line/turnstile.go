package line

import (
	"context"
	"crypto/tls"
	"errors"
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
// that costs nothing, and one elsewhere by Admit. Its methods may be called from any goroutine.
type Turnstile struct {
	slots chan struct{}
	wait  time.Duration
}

// NewTurnstile makes one.
func NewTurnstile() *Turnstile { return &Turnstile{make(chan struct{}, passing), waitFor} }

// ErrCrowd is of a connection that waited for too long. It is ended without an alert: that
// would mean that a certificate is not believed.
var ErrCrowd = errors.New("too many connect at once")

// enter waits for a turn, which free ends, and gives up with done. begin says when it begins,
// after which others have it in a while.
func (t *Turnstile) enter(done <-chan struct{}) (begin, free func(), ok bool) {
	select {
	case t.slots <- struct{}{}:
	case <-done:
		return nil, nil, false
	}
	free = sync.OnceFunc(func() { <-t.slots })
	return func() { time.AfterFunc(passFor, free) }, free, true
}

// Admit is for GetConfigForClient of a tls.Config.
func (t *Turnstile) Admit(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	late := time.NewTimer(t.wait)
	defer late.Stop()
	select {
	case t.slots <- struct{}{}:
	case <-hello.Context().Done():
		return nil, context.Cause(hello.Context())
	case <-late.C:
		return nil, errors.Join(ErrCrowd, hello.Conn.Close())
	}
	free := sync.OnceFunc(func() { <-t.slots })
	context.AfterFunc(hello.Context(), free) // it ends with the handshake
	time.AfterFunc(passFor, free)
	return nil, nil
}
