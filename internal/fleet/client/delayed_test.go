package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestDelayedRequest: a request that the network delivers after its caller has given up changes
// nothing. The network is a proxy that holds what the client sends.
func TestDelayedRequest(t *testing.T) {
	var done atomic.Int32
	left := make(chan struct{}, 1)
	server, authority := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if _, err := io.ReadAll(r.Body); err == nil {
				done.Add(1)
			}
			left <- struct{}{}
		}
		_, _ = io.WriteString(w, `{}`)
	}), "hub")
	network := newNetwork(t, strings.TrimPrefix(server.URL, "https://"))
	c, err := client.New(client.Login{Hub: "https://" + network.address, Token: "t", Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := freezeWeb1(t.Context(), c); err != nil || done.Load() != 1 {
		t.Fatalf("%d freezes were done: %v", done.Load(), err)
	}
	<-left
	network.mu.Lock()
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	_, err = freezeWeb1(ctx, c)
	network.mu.Unlock()
	if err == nil {
		t.Fatal("a request is answered that the hub has not got")
	}
	if _, err := client.Get(t.Context(), c, route.Status()); err != nil { // what was held has arrived
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(time.Second): // the hub may drop the request before it looks at it
	}
	if n := done.Load(); n != 1 {
		t.Errorf("%d freezes were done, the last one after its caller gave up", n)
	}
}

// network forwards connections to a server. It forwards nothing of the clients while mu is held.
type network struct {
	address string
	mu      sync.Mutex
}

func newNetwork(t *testing.T, server string) *network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	n := &network{address: l.Addr().String()}
	go func() {
		for from, err := l.Accept(); err == nil; from, err = l.Accept() {
			go n.forward(from, server)
		}
	}()
	return n
}

func (n *network) forward(from net.Conn, server string) {
	defer from.Close()
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(from, to) }()
	buffer := make([]byte, 64<<10)
	for {
		k, err := from.Read(buffer)
		n.mu.Lock()
		_, failed := to.Write(buffer[:k])
		n.mu.Unlock()
		if err != nil || failed != nil {
			return
		}
	}
}
