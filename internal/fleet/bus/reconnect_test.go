package bus_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// fleetBehind starts a hub that becomes ready when all agents of one address have begun to connect.
// It returns the number of messages of the hub about refused connections until all agents were
// connected.
func fleetBehind(t *testing.T, agents int, budget agentconn.Budget, meanwhile func(srv *bus.Server)) (warnings int64) {
	a := newAuthority(t)
	ready := make(chan struct{})
	var begun, refused, missed atomic.Int64
	srv, err := bus.Start(context.Background(), bus.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: a.conf("hub", "hub1"), Identify: identify, Ready: ready,
		Budget: budget, Warn: func(text string) { t.Log(text); refused.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	meanwhile(srv)
	for i := range agents {
		c := a.link(srv, bustest.ID(i))
		conf := c.TLS
		c.TLS = func() (*tls.Config, error) { begun.Add(1); return conf() }
		c.Warn = func(text string) {
			if missed.Add(1) <= 5 {
				t.Log(text)
			}
		}
		c.Backoff = bus.Backoff{}
		ctx, cancel := context.WithCancel(context.Background())
		l, err := bus.Dial(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cancel(); _ = l.Close() })
	}
	waitUntil(t, "all agents connect", func() bool { return begun.Load() >= int64(agents) })
	began := time.Now()
	close(ready)
	waitUntil(t, "all agents are connected", func() bool { return len(srv.Exchange().Connected()) == agents })
	t.Logf("%d agents connected in %s, %d attempts failed", agents, time.Since(began), missed.Load())
	return refused.Load()
}

func waitUntil(t *testing.T, name string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within two minutes: " + name)
		}
	}
}

// Agents behind one address connect at once, many more than a hub accepts as strangers: each waits,
// and none is refused.
func TestFleetBehindOneAddress(t *testing.T) {
	agents, budget := 200, agentconn.Budget{Most: 1000, Strangers: 16, Patience: time.Minute, Queue: 10 * time.Second}
	if os.Getenv("FETTLE_LONG") != "" { // as many as a hub with 65,536 descriptors accepts
		agents, budget = 2000, agentconn.Budget{Most: 50_000, Strangers: 1024, Patience: 10 * time.Second, Queue: time.Second}
	}
	if n := fleetBehind(t, agents, budget, func(*bus.Server) {}); n > 0 {
		t.Errorf("the hub refused agents: %d messages", n)
	}
}

// Idle connections have all places for strangers. All agents still connect.
func TestFleetAmongIdleConnections(t *testing.T) {
	fleetBehind(t, 50, agentconn.Budget{Most: 1000, Strangers: 16, Patience: time.Minute, Queue: 100 * time.Millisecond},
		func(srv *bus.Server) {
			for range 100 {
				c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp", srv.Address().String())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
			}
		})
}
