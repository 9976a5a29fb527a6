package agentconn

import (
	"crypto/tls"
	"net"
	"time"

	"fettle.dev/fettle/internal/host/epoll"
)

// past returns a deadline in the past: a read then returns the bytes that TLS has buffered, and
// does not wait.
func past() time.Time { return time.Unix(1, 0) }

// socketOf returns the socket of a TLS connection, or nil for other connections.
func socketOf(c net.Conn) epoll.Socket {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	below := t.NetConn()
	if b, ok := below.(*Bounded); ok {
		below = b.Conn
	}
	file, ok := below.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// park lets a connection wait without a goroutine, and returns true if it does. A function that
// ends a parked connection must also call leave.
func (g *serverConn) park() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return false
	}
	if g.server.parking.Arm(g.socket, g.number, g.known) != nil {
		return false
	}
	g.known, g.parked = true, true
	return true
}

// wake reads from a connection again if it is parked.
func (g *serverConn) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.parked {
		g.parked = false
		go g.read()
	}
}
