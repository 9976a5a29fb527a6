package main

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// attackAddresses is the number of addresses of attackers, 127.1.0.1 and the next ones. Agents
// have 127.0.0.1.
const attackAddresses = 64

// attackPause is the time between two connections of an attacker.
const attackPause = 250 * time.Millisecond

// besiege keeps a number of connections to a hub open until ctx ends, and replaces each connection
// that the hub closes. Half of them send nothing, and half begin a handshake that does not end. wait
// returns the number of all connections.
func besiege(ctx context.Context, attackers int, ports []string) (wait func() int64) {
	var all sync.WaitGroup
	var opened atomic.Int64
	for i := range attackers {
		from := net.IPv4(127, 1, 0, byte(1+i%attackAddresses))
		all.Go(func() {
			for pause(ctx, rand.N(2*attackPause)) == nil {
				c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}).DialContext(ctx, "tcp", ports[i/2%len(ports)])
				if err != nil {
					continue
				}
				opened.Add(1)
				occupy(ctx, c, i%2 == 0)
			}
		})
	}
	return func() int64 { all.Wait(); return opened.Load() }
}

// occupy keeps a connection until the hub closes it.
func occupy(ctx context.Context, c net.Conn, handshake bool) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if handshake {
		_ = tls.Client(unread{c}, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	}
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
}

// unread is a connection without the answers of the other end.
type unread struct{ net.Conn }

// Read implements io.Reader.
func (unread) Read([]byte) (int, error) { return 0, io.EOF }
