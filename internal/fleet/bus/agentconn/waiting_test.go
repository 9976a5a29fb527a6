package agentconn

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// TestWaiting: clients that connect before a hub is ready wait and are then admitted. Clients that
// left in the meantime cost no handshake.
func TestWaiting(t *testing.T) {
	var began, identified atomic.Int64
	d, _, l, conf := behind(t, func() { began.Add(1) })
	ready := make(chan struct{})
	d.config.Ready = ready
	d.config.Identify = func(*tls.ConnectionState) (fleet.TargetID, error) {
		identified.Add(1)
		return one, nil
	}
	served := make(chan error, 1)
	go func() { served <- d.Serve(l) }()

	for range 3 {
		ctx, give := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", l.Addr().String()); err == nil {
			t.Fatal("was let in by a hub that is not ready")
		}
		give()
	}
	in := make(chan error, 1)
	waits, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer waits.Close()
	go func() { in <- tls.Client(waits, conf).Handshake() }()
	select {
	case err := <-in:
		t.Fatalf("was answered by a hub that is not ready: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(ready)
	if err := <-in; err != nil {
		t.Errorf("who waited is not let in: %v", err)
	}
	until(t, "who waited is in", func() bool { return d.Open() == 1 })
	if identified.Load() != 1 || began.Load() != 1 {
		t.Errorf("%d were let in, %d handshakes began", identified.Load(), began.Load())
	}
	d.Close(0)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestNeverReady: a server can be closed before it is ready, and then stops listening.
func TestNeverReady(t *testing.T) {
	d, _, l, _ := behind(t, nil)
	d.config.Ready = make(chan struct{})
	served := make(chan error, 1)
	go func() { served <- d.Serve(l) }()
	until(t, "it serves", func() bool { d.mu.RLock(); defer d.mu.RUnlock(); return d.listener != nil })
	d.Close(0)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("somebody listens at a door that is closed")
	}
}
