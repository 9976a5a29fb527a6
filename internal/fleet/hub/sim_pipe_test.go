package hub

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// roomy is an end of a pipe with a buffer, like a network: both ends of TLS may write at the same
// time.
type roomy struct {
	net.Conn
	wake chan struct{}

	mu     sync.Mutex
	queue  [][]byte
	closed bool
	failed error
}

// roomyPipe is net.Pipe with a buffer.
func roomyPipe() (a, b net.Conn) {
	here, there := net.Pipe()
	return newRoomy(here), newRoomy(there)
}

func newRoomy(c net.Conn) *roomy {
	r := &roomy{Conn: c, wake: make(chan struct{}, 1)}
	go r.run()
	return r
}

// run forwards the written data, and then closes the pipe.
func (r *roomy) run() {
	defer r.Conn.Close()
	for {
		r.mu.Lock()
		queue, closed := r.queue, r.closed
		r.queue = nil
		r.mu.Unlock()
		for _, b := range queue {
			if _, err := r.Conn.Write(b); err != nil {
				r.mu.Lock()
				r.failed = err
				r.mu.Unlock()
				return
			}
		}
		switch {
		case len(queue) > 0:
		case closed:
			return
		default:
			<-r.wake
		}
	}
}

func (r *roomy) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, net.ErrClosed
	case r.failed != nil:
		return 0, r.failed
	}
	r.queue = append(r.queue, bytes.Clone(b))
	r.more()
	return len(b), nil
}

func (r *roomy) more() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close gives the reader a second for buffered data.
func (r *roomy) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return net.ErrClosed
	}
	r.closed = true
	_ = r.Conn.SetReadDeadline(time.Unix(1, 0))
	_ = r.Conn.SetWriteDeadline(time.Now().Add(time.Second))
	r.more()
	return nil
}

// SetDeadline only affects reads: writes never block.
func (r *roomy) SetDeadline(t time.Time) error { return r.SetReadDeadline(t) }

func (r *roomy) SetWriteDeadline(time.Time) error { return nil }

func (r *roomy) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return net.ErrClosed
	}
	return r.Conn.SetReadDeadline(t)
}
