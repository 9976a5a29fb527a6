package agentconn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// errOver ends handshakes after they were admitted.
var errOver = errors.New("over")

// try connects, and returns the result of both ends. The handshake ends when goOn is closed.
func try(s *HandshakeLimiter, goOn <-chan struct{}) (client, server error) {
	a, b := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- tls.Server(b, &tls.Config{GetConfigForClient: s.Admit,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				<-goOn
				return nil, errOver
			}}).Handshake()
		_ = b.Close()
	}()
	return tls.Client(a, &tls.Config{ServerName: "hub"}).Handshake(), <-ended
}

// The number of concurrent handshakes is limited. A handshake that ends frees its turn at once, and
// a stalled one after a while. A client that waits for too long receives no alert.
func TestHandshakeLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		close(over)
		s := newHandshakeLimiter(2, 100*time.Millisecond)
		for range 5 {
			if _, err := try(s, over); !errors.Is(err, errOver) {
				t.Fatal(err)
			}
		}
		stuck := make(chan struct{})
		for range 2 {
			go func() { _, _ = try(s, stuck) }()
		}
		synctest.Wait()
		client, server := try(s, over)
		if alert, ok := errors.AsType[*net.OpError](client); !errors.Is(server, ErrTooManyHandshakes) || ok &&
			alert.Op == "remote error" || !errors.Is(client, io.EOF) {
			t.Errorf("the hub says %v, and the agent gets %v", server, client)
		}
		time.Sleep(ownFor)
		synctest.Wait()
		if _, err := try(s, over); !errors.Is(err, errOver) {
			t.Errorf("those who do not go on keep others out: %v", err)
		}
		close(stuck)
		synctest.Wait()
	})
}

// far is a connection from an address.
type far struct {
	net.Conn
	from string
}

func (f far) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.from + ":1"))
}

// One address has all turns until another address connects, which then has the next one. A
// connection that has left the queue gets none.
func TestHandshakeLimiterIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHandshakeLimiter(4, time.Hour)
		var order []string
		var mu sync.Mutex
		enter := func(ctx context.Context, from string) (free func()) {
			free, err := s.admit(ctx, far{from: from})
			if err != nil {
				return nil
			}
			mu.Lock()
			order = append(order, from)
			mu.Unlock()
			return free
		}
		var free [4]func()
		for i := range free {
			free[i] = enter(t.Context(), "192.0.2.1")
		}
		gone, leave := context.WithCancel(t.Context())
		go enter(gone, "192.0.2.3")
		synctest.Wait()
		for _, from := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"} {
			go enter(t.Context(), from)
			synctest.Wait()
		}
		if n := s.Waiting(); n != 6 {
			t.Errorf("%d connections wait, want 6", n)
		}
		leave()
		synctest.Wait()
		mu.Lock()
		order = nil
		mu.Unlock()
		for i := range free {
			free[i]()
			synctest.Wait()
		}
		mu.Lock()
		turns := slices.Clone(order)
		mu.Unlock()
		if want := []string{"192.0.2.2", "192.0.2.2", "192.0.2.1", "192.0.2.1"}; !slices.Equal(turns, want) {
			t.Errorf("turns of %v instead of %v", turns, want)
		}
		time.Sleep(2 * ownFor)
		synctest.Wait()
		if len(s.running) != 0 || len(s.queue) != 0 || s.free != 4 {
			t.Errorf("all have ended, and remain: %+v", s)
		}
	})
}

// If a hub is slow, thousands of agents of one address do not take turns from each other: otherwise
// all handshakes would run at once, and none would end in time. Another address takes a slow turn.
func TestHandshakeLimiterOfASlowHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHandshakeLimiter(4, time.Hour)
		var running, most, done atomic.Int64
		for range 20 {
			go func() {
				free, err := s.admit(t.Context(), far{from: "192.0.2.1"})
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(ownFor*time.Duration(1+done.Add(1)%4)/2 - 1) // at most twice ownFor
				running.Add(-1)
				s.authenticated(far{from: "192.0.2.1"})
				free()
			}()
			synctest.Wait()
		}
		time.Sleep(passFor / 2)
		began := time.Now()
		free, err := s.admit(t.Context(), far{from: "192.0.2.2"})
		if waited := time.Since(began); err != nil || waited > passFor {
			t.Errorf("another address waited for %s: %v", waited, err)
		}
		free()
		time.Sleep(time.Minute)
		synctest.Wait()
		if most.Load() > 5 || done.Load() != 20 || len(s.running) != 0 || len(s.slow) != 0 || s.free != 4 {
			t.Errorf("%d handshakes ran at once, %d ended; %+v", most.Load(), done.Load(), s)
		}
	})
}
