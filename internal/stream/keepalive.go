package stream

import (
	"sync/atomic"
	"time"
)

// Keepalive says how an end detects that the other end is silent.
type Keepalive struct {
	// Every is the time after which a ping is sent.
	Every time.Duration
	// Lost is the time without any frame after which the other end is lost.
	Lost time.Duration
	// Always sends a ping every time. Otherwise one is sent only if no frame arrived for Every, and
	// the other end must answer it.
	Always bool
}

// Heard is the time of the last frame of the other end. NewHeard returns one.
type Heard struct {
	begin time.Time
	after atomic.Int64 // nanoseconds since begin
}

// NewHeard returns a Heard for which a frame arrived now.
func NewHeard() *Heard { return &Heard{begin: time.Now()} }

// Now records a frame.
func (h *Heard) Now() { h.after.Store(int64(time.Since(h.begin))) }

// silent returns the time since the last frame.
func (h *Heard) silent() time.Duration {
	return time.Since(h.begin) - time.Duration(h.after.Load())
}

// Run calls ping as configured, and calls lost once if the other end is lost. It returns after lost,
// or when done is closed. A ping that blocks delays the next check.
func (k Keepalive) Run(done <-chan struct{}, h *Heard, ping, lost func()) {
	t := time.NewTimer(k.Every)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		silent := h.silent()
		next := k.Every
		switch {
		case silent >= k.Lost:
			lost()
			return
		case k.Always || silent >= k.Every:
			ping()
			next = min(next, k.Lost-silent)
		default:
			next -= silent
		}
		t.Reset(next)
	}
}
