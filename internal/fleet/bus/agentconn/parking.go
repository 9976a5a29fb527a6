package agentconn

import (
	"crypto/tls"
	"net"
	"time"

	"fettle.dev/fettle/internal/host/epoll"
)

// past is a deadline that has gone by: a read gives what TLS has already, and waits for
// nothing.
func past() time.Time { return time.Unix(1, 0) }

// socketOf is the socket under a connection of TLS, nil for any other.
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

// park has a connection wait without a goroutine, and tells whether it does. What ends a
// connection that is parked takes leave of it as well.
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

// wake reads from a connection again, if it is parked.
func (g *serverConn) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.parked {
		g.parked = false
		go g.read()
	}
}
