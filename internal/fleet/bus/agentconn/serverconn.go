package agentconn

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/epoll"
)

const (
	// writeTime is the time after which a connection that accepts no bytes is ended.
	writeTime = 10 * time.Second
	// chunk is the size of one write in bytes. It must be accepted within writeTime.
	chunk = 64 << 10
	// maxWaiting is the maximum number of bytes that wait for one agent. It is larger than the
	// limit of the answers to one agent, see gate in package bus.
	maxWaiting = 32 << 20
	// maxHeld is the maximum number of bytes that wait for all agents of a hub.
	maxHeld = 256 << 20
)

// Reasons for which a hub ends a connection of an agent that misbehaves.
const (
	brokeForm  = "it violated the protocol"
	brokeFlood = "it requested more than it reads"
)

// serverConn is the hub's end of a connection.
type serverConn struct {
	server *Server
	id     fleet.TargetID
	number uint64
	conn   net.Conn
	head   head
	heard  atomic.Bool  // since the last look
	missed missedChecks // used only by look
	more   bool         // TLS may have buffered bytes; used only by read
	socket epoll.Socket // nil if the connection cannot be parked

	mu      sync.Mutex
	known   bool   // registered in the parking
	parked  bool   // without a reader
	waiting []byte // frames
	held    int    // bytes that wait for this connection, a part of the server's held
	writing bool   // a writer is running
	over    bool
}

// read handles frames until there are no more, and then parks the connection; or until the
// connection ends.
func (g *serverConn) read() {
	for {
		kind, rest, some, err := g.next()
		switch {
		case err == nil && !some && g.park():
			return
		case err != nil, some && !g.take(kind, rest):
			if err == nil || errors.Is(err, errForm) {
				g.server.broke(g.id, brokeForm)
			}
			g.leave()
			return
		}
	}
}

// next returns the next frame; some is false if there is none yet. If the connection can be parked,
// next does not wait unless the kernel reported readable bytes.
func (g *serverConn) next() (kind byte, rest []byte, some bool, err error) {
	had := 0
	if g.socket != nil {
		if g.more {
			had, err = g.already()
			if g.more = had > 0; !g.more {
				return 0, nil, false, err
			}
		}
		if err := g.conn.SetReadDeadline(time.Time{}); err != nil {
			return 0, nil, false, err
		}
	}
	kind, rest, err = g.head.read(g.conn, had, hubRoom)
	g.more = true
	return kind, rest, true, err
}

// already reads bytes that TLS has buffered, without waiting.
func (g *serverConn) already() (n int, err error) {
	if err := g.conn.SetReadDeadline(past()); err != nil {
		return 0, err
	}
	n, err = g.conn.Read(g.head[:])
	if n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, nil
	}
	return 0, err
}

// take handles a frame, and returns false if it is invalid.
func (g *serverConn) take(kind byte, rest []byte) bool {
	g.heard.Store(true)
	switch kind {
	case kindPing:
		g.add(func(b []byte) []byte { return appendFrame(b, kindPong) })
	case kindPong:
	case kindMessage:
		subject, reply, body, err := openMessage(rest)
		if err != nil {
			return false
		}
		g.server.heard(g, subject, reply, body)
	default:
		return false
	}
	return true
}

// leave ends a connection and removes it from the server.
func (g *serverConn) leave() {
	g.mu.Lock()
	g.end()
	g.mu.Unlock()
	g.server.forget(g)
}

// end must be called with the lock held. The reader, or a new goroutine, then removes the
// connection. Closing a TLS connection writes to the other end and can block, so it has its own
// goroutine.
func (g *serverConn) end() {
	if !g.over {
		g.over, g.waiting = true, nil
		g.took(g.held)
		if g.parked {
			g.parked = false
			go g.leave()
		}
		go func() { _ = g.conn.Close() }()
	}
}

// dismiss ends a connection.
func (g *serverConn) dismiss() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

// add sends a frame. It never waits: if the agent does not read, the connection ends.
func (g *serverConn) add(frame func([]byte) []byte) {
	if g.addOne(frame) > g.server.most() {
		g.server.relieve()
	}
}

// addOne returns the number of bytes that then wait for all agents.
func (g *serverConn) addOne(frame func([]byte) []byte) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.over:
		return 0
	case len(g.waiting) > maxWaiting:
		g.tooSlow()
		return 0
	}
	had := len(g.waiting)
	g.waiting = frame(g.waiting)
	n := len(g.waiting) - had
	g.held += n
	if !g.writing {
		g.writing = true
		go g.write()
	}
	return g.server.held.Add(int64(n))
}

// tooSlow ends a connection that does not read its messages. It must be called with the lock held.
func (g *serverConn) tooSlow() {
	g.server.slow.Add(1)
	g.server.broke(g.id, brokeFlood)
	g.end()
}

// took counts bytes as no longer waiting. It must be called with the lock held.
func (g *serverConn) took(n int) {
	n = min(n, g.held)
	g.held -= n
	g.server.held.Add(-int64(n))
}

// waits returns the number of bytes that wait for this agent.
func (g *serverConn) waits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (d *Server) most() int64 { return cmp.Or(d.config.MaxPendingBytes, maxHeld) }

// relieve ends the connections with the most waiting bytes, until the total is within its limit.
// Agents that read their messages are not affected by agents that do not.
func (d *Server) relieve() {
	d.relieving.Lock()
	defer d.relieving.Unlock()
	if d.held.Load() <= d.most() {
		return
	}
	all := map[*serverConn]int{}
	for _, g := range d.conns(func(*serverConn) bool { return true }) {
		all[g] = g.waits()
	}
	slowest := slices.Collect(maps.Keys(all))
	slices.SortFunc(slowest, func(a, b *serverConn) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a.number, b.number))
	})
	for _, g := range slowest {
		if d.held.Load() <= d.most() {
			return
		}
		g.mu.Lock()
		if !g.over {
			g.tooSlow()
		}
		g.mu.Unlock()
	}
}

// write sends all waiting frames. It runs in one goroutine, which ends when nothing waits.
func (g *serverConn) write() {
	for {
		g.mu.Lock()
		b := g.waiting
		g.waiting = nil
		if len(b) == 0 {
			g.writing = false
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		for len(b) > 0 {
			n := min(len(b), chunk)
			if err := g.put(b[:n]); err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					g.server.slow.Add(1)
				}
				g.dismiss()
				return
			}
			b = b[n:]
			g.mu.Lock()
			g.took(n)
			g.mu.Unlock()
		}
	}
}

func (g *serverConn) put(b []byte) error {
	if err := g.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := g.conn.Write(b)
	return err
}
