package agentconn

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// ErrRefused means that a hub refuses this agent. The hub gives no reason.
var ErrRefused = errors.New("the hub refused this agent")

// errUnresponsive means that a connection ended because nothing arrived over it.
var errUnresponsive = errors.New("the hub sent nothing for too long")

// ClientConn is the agent's end of a connection.
type ClientConn struct {
	conn     net.Conn
	ends     ends
	watch    Watch
	versions Versions
	name     string // of the hub
	number   uint64
	heard    atomic.Bool
	lost     chan struct{}
	ended    sync.Once
	why      error // the reason of the end; read it only after lost is closed

	begun  sync.Once
	head   head
	writes sync.Mutex

	mu     sync.Mutex
	timer  *time.Timer // calls look; nil before Receive and after the end
	missed missedChecks
}

// Join starts the protocol on a TLS connection, and waits until the hub accepts the agent. The TLS
// handshake may not have happened yet. The deadline of the connection limits the wait. If the hub
// refuses, ErrRefused is in the chain of the error. After an error the connection is closed.
func Join(conn net.Conn, id fleet.TargetID, w Watch) (*ClientConn, error) {
	return JoinAs(conn, id, w, OwnVersions())
}

// JoinAs is Join for an end that supports the versions v, which the connection must have offered.
// The error is a *VersionError if the hub has no version in common.
func JoinAs(conn net.Conn, id fleet.TargetID, w Watch, v Versions) (*ClientConn, error) {
	j := &ClientConn{conn: conn, ends: endsOf(id), watch: w, versions: v, lost: make(chan struct{})}
	err := j.handshake()
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return j, nil
}

func (j *ClientConn) handshake() error {
	kind, rest, err := j.head.read(j.conn, 0, agentRoom)
	switch {
	case err != nil:
		return err
	case kind == kindRefused:
		return j.versions.refused(rest)
	case kind != kindHello:
		return errForm
	}
	if j.number, j.name, err = openHello(rest); err == nil {
		err = j.agree()
	}
	return err
}

// agree refuses a hub that supports only an older version: a hub without version negotiation
// accepts all agents.
func (j *ClientConn) agree() error {
	t, ok := j.conn.(*tls.Conn)
	if !ok {
		return nil // within this process
	}
	n, ok := version(t.ConnectionState().NegotiatedProtocol)
	if !ok {
		return errForm
	}
	if !j.versions.Speaks(n) {
		return &VersionError{Agent: j.versions, Hub: Versions{n, n}}
	}
	return nil
}

// Receive calls each for all messages to the agent, one call after the other and in the order of
// the hub. It can be called once; before that, nothing is read.
func (j *ClientConn) Receive(subject, group string, each func(Message)) error {
	if subject != j.ends.down+">" || group != "" {
		return fmt.Errorf("cannot subscribe to %s: %w: an agent receives all of its own messages", subject, fleet.ErrDenied)
	}
	err := errors.New("cannot subscribe twice")
	j.begun.Do(func() {
		err = nil
		go j.read(each)
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.watch.Every > 0 && !j.over() {
			j.timer = time.AfterFunc(j.watch.Every, j.look)
		}
	})
	return err
}

func (j *ClientConn) read(each func(Message)) {
	for {
		kind, rest, err := j.head.read(j.conn, 0, agentRoom)
		if err == nil {
			j.heard.Store(true)
			err = j.take(kind, rest, each)
		}
		if err != nil {
			j.end(err)
			return
		}
	}
}

func (j *ClientConn) take(kind byte, rest []byte, each func(Message)) error {
	switch kind {
	case kindPing:
		return j.write(appendFrame(nil, kindPong))
	case kindPong:
		return nil
	case kindNobody:
		if !isPlain(string(rest)) {
			return errForm
		}
		each(Message{Subject: j.ends.down + string(rest), NoReceiver: true})
		return nil
	case kindMessage:
		subject, reply, body, err := openMessage(rest)
		if err != nil {
			return err
		}
		m := Message{Subject: j.ends.down + subject, Body: body}
		if reply != "" {
			m.Reply = j.ends.up + reply
		}
		each(m)
		return nil
	}
	return errForm
}

// look pings a hub that is silent, and ends the connection if it stays silent. A timer calls it,
// and look restarts the timer.
func (j *ClientConn) look() {
	switch j.missed.look(j.heard.Swap(false), j.watch.Most) {
	case ask:
		_ = j.write(appendFrame(nil, kindPing)) // an error ends the connection
	case end:
		j.end(errUnresponsive)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timer != nil {
		j.timer.Reset(j.watch.Every)
	}
}

// atATime is the size of one write of an agent in bytes, and thus of a TLS record. The hub's end
// keeps a buffer for the largest record that it received for as long as the connection lasts. A
// buffer of this size exists anyway since the handshake.
const atATime = 2000

// Send sends a message to the hub. It waits until the connection accepts the bytes: at most 10
// seconds for each 2,000 bytes, after which the connection ends.
func (j *ClientConn) Send(subject, reply string, body []byte) error {
	up, ok := strings.CutPrefix(subject, j.ends.up)
	down, back := strings.CutPrefix(reply, j.ends.down)
	switch {
	case len(body) > MaxBody:
		return fmt.Errorf("cannot send %d bytes at once: the maximum is %d", len(body), MaxBody)
	case !ok || !isPlain(up) || reply != "" && (!back || !isPlain(down)):
		return fmt.Errorf("cannot send %s with an answer to %q: %w: an agent can use only its own subjects", subject, reply,
			fleet.ErrDenied)
	}
	return j.write(packMessage(nil, up, down, body))
}

func (j *ClientConn) write(b []byte) error {
	j.writes.Lock()
	defer j.writes.Unlock()
	for len(b) > 0 {
		n := min(len(b), atATime)
		err := j.conn.SetWriteDeadline(time.Now().Add(writeTime))
		if err == nil {
			_, err = j.conn.Write(b[:n])
		}
		if err != nil {
			j.end(err)
			return err
		}
		b = b[n:]
	}
	return nil
}

func (j *ClientConn) end(why error) {
	j.ended.Do(func() {
		j.why = why
		close(j.lost)
		j.mu.Lock()
		if j.timer != nil {
			j.timer.Stop()
			j.timer = nil
		}
		j.mu.Unlock()
		_ = j.conn.Close()
	})
}

// Place returns the name of the hub's process, and the number of this connection there.
func (j *ClientConn) Place() (server string, connection uint64) { return j.name, j.number }

// Lost is closed when the connection has ended, at either end.
func (j *ClientConn) Lost() <-chan struct{} { return j.lost }

// Why returns the reason of the end: nil after Close, and before Lost is closed.
func (j *ClientConn) Why() error {
	if !j.over() {
		return nil
	}
	return j.why
}

func (j *ClientConn) over() bool {
	select {
	case <-j.lost:
		return true
	default:
		return false
	}
}

// Close ends the connection. It may be called again.
func (j *ClientConn) Close() { j.end(nil) }
