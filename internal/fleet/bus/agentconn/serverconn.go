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
	// writeTime is how long a connection may take none of what waits for it.
	writeTime = 10 * time.Second
	// chunk is how much is written at once, and has to be taken within writeTime.
	chunk = 64 << 10
	// maxWaiting is how much may wait for one agent, in bytes. Who is answered a lot within
	// a short time has it waiting: see the gate of package bus, whose bound is below this.
	maxWaiting = 32 << 20
	// maxHeld is how much may wait for all agents of a hub, in bytes.
	maxHeld = 256 << 20
)

// Why a hub ended a connection, as an agent that keeps to the protocol gives no reason to.
const (
	brokeForm  = "it does not keep to the protocol"
	brokeFlood = "it asks for more than it takes"
)

// serverConn is the hub's end of a connection.
type serverConn struct {
	server *Server
	id     fleet.TargetID
	number uint64
	conn   net.Conn
	head   head
	heard  atomic.Bool  // since it was looked at
	missed missedChecks // of who looks
	more   bool         // TLS may have more of what was sent; of who reads
	socket epoll.Socket // nil for a connection that cannot be parked

	mu      sync.Mutex
	known   bool   // to the parking
	parked  bool   // nobody reads from it
	waiting []byte // frames
	held    int    // bytes that this connection did not take yet, a part of those of the door
	writing bool   // somebody writes
	over    bool
}

// read takes what comes until there is no more of it, and parks the connection; or until
// it ends.
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

// next is the next frame, if there is some: where one can be parked, it is not waited for
// unless the kernel has said that there is one.
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

// already reads of what TLS has taken from the kernel, and waits for nothing.
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

// take does what a frame says, and tells whether it is one.
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

// leave is the end of a connection.
func (g *serverConn) leave() {
	g.mu.Lock()
	g.end()
	g.mu.Unlock()
	g.server.forget(g)
}

// end needs the lock. Who reads from the connection leaves. To close one says so to the other
// end, which may not take that either: nobody waits for it.
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

// dismiss ends a connection from outside.
func (g *serverConn) dismiss() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

// add has a frame sent. It never waits: who does not take what is there for him is ended.
func (g *serverConn) add(frame func([]byte) []byte) {
	if g.addOne(frame) > g.server.most() {
		g.server.relieve()
	}
}

// addOne tells how much waits for all agents then.
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

// tooSlow ends a connection that does not take what it has asked for. It needs the lock.
func (g *serverConn) tooSlow() {
	g.server.slow.Add(1)
	g.server.broke(g.id, brokeFlood)
	g.end()
}

// took counts bytes as no longer waiting. It needs the lock.
func (g *serverConn) took(n int) {
	n = min(n, g.held)
	g.held -= n
	g.server.held.Add(-int64(n))
}

// waits is how much waits for this agent.
func (g *serverConn) waits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (d *Server) most() int64 { return cmp.Or(d.config.MostHeld, maxHeld) }

// relieve ends the connections for which most waits, until what waits for all agents is
// within its bound: an agent that reads has nothing to fear from those that do not.
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

// write sends all that waits. It is one goroutine, and there is none where nothing waits.
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
