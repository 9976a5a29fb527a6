package agentconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/epoll"
)

// handshakeTime limits the time until a new connection has authenticated.
const handshakeTime = 15 * time.Second

// Config configures a Server.
type Config struct {
	Name string // of this hub's process: letters, digits and -
	// Identify returns the target of a connection with a verified certificate. It is called once
	// for each connection, from several goroutines. An error refuses the connection.
	Identify func(*tls.ConnectionState) (fleet.TargetID, error)
	// Ready is closed when agents may connect; nil means at once. Earlier connections wait in the
	// kernel: ending them would make their agents reconnect, which costs both ends more than
	// waiting.
	Ready <-chan struct{}
	// HandshakeLimiter limits the concurrent handshakes; nil means a limiter of this server.
	HandshakeLimiter *HandshakeLimiter
	// Admit is called before any message of a connection, and OnDisconnect after its last message. Both are
	// called from several goroutines.
	Admit        func(id fleet.TargetID, connection uint64)
	OnDisconnect func(connection uint64)
	// Versions are the accepted protocol versions; the zero value is OwnVersions.
	Versions Versions
	// Incompatible is called for each agent that was refused because of its version. It must return
	// at once; nil calls nothing.
	Incompatible   func(id fleet.TargetID, e *VersionError)
	MaxConnections int // Most is the maximum number of connections, including connections that have not authenticated.
	Watch          Watch
	// MaxPendingBytes is the maximum number of bytes that wait for all agents together; 0 means 256 MiB.
	MaxPendingBytes int64
	// OnViolation is called with the reason when a connection was ended because the agent violated the
	// protocol or requested more than it reads; nil calls nothing. It must return at once.
	OnViolation func(id fleet.TargetID, why string)
	// Warn is called with a text when the hub refuses a connection.
	Warn func(text string)
}

// Server is the hub's end of all its connections with agents.
type Server struct {
	config      Config
	life        context.Context // ends with the server
	end         context.CancelFunc
	handshaking atomic.Int64 // connections that have not authenticated
	slow        atomic.Int64
	stale       atomic.Int64
	held        atomic.Int64   // bytes that wait for agents
	connGroup   sync.WaitGroup // accepted connections whose OnDisconnect has not been called

	relieving sync.Mutex // taken before all other locks

	mu        sync.RWMutex
	last      uint64
	all       map[uint64]*serverConn
	of        map[fleet.TargetID][]*serverConn
	receivers []receiver
	listener  net.Listener
	// parking has the idle connections; nil until there are any. Nearly all connections are idle,
	// and a goroutine that waits for a read keeps the stack of its earlier work: 8 KB with TLS.
	parking *epoll.Set
	closed  bool
}

// receiver is one subscription.
type receiver struct {
	pattern []string // of the subject after f.ID.up.
	group   string
	each    func(Message)
}

// NewServer returns a server without connections. It runs until Close.
func NewServer(c Config) *Server {
	if c.Versions == (Versions{}) {
		c.Versions = OwnVersions()
	}
	if c.HandshakeLimiter == nil {
		c.HandshakeLimiter = NewHandshakeLimiter()
	}
	life, end := context.WithCancel(context.Background())
	d := &Server{config: c, life: life, end: end, all: map[uint64]*serverConn{}, of: map[fleet.TargetID][]*serverConn{}}
	go d.watch()
	return d
}

// Serve accepts the connections of a listener until the listener or the server is closed. The
// listener must return TLS connections. The server closes it.
func (d *Server) Serve(l net.Listener) error {
	d.mu.Lock()
	d.listener = l
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return l.Close()
	}
	if d.config.Ready != nil {
		select {
		case <-d.config.Ready:
		case <-d.life.Done():
			return nil
		}
	}
	for wait := time.Duration(0); ; {
		c, err := l.Accept()
		if err == nil {
			wait = 0
			d.handshaking.Add(1)
			go d.handshake(c)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		// Usually there are no free file descriptors; connections will end.
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		if !d.pause(wait) {
			return nil
		}
	}
}

// handshake handles a new connection. It has its own goroutine: the later reader then begins with a
// small stack.
func (d *Server) handshake(c net.Conn) {
	defer d.handshaking.Add(-1)
	id, err := d.admit(c)
	if err != nil {
		_ = c.Close()
		return
	}
	if b := BoundedOf(c); b != nil {
		b.Authenticated()
	}
	d.letIn(c, id)
}

// admit waits for the turn of a connection, and completes its handshake.
func (d *Server) admit(c net.Conn) (fleet.TargetID, error) {
	if d.config.MaxConnections > 0 && d.Open()+int(d.handshaking.Load()) > d.config.MaxConnections {
		return "", ErrTooManyHandshakes
	}
	ctx, cancel := context.WithTimeout(d.life, handshakeTime)
	defer cancel()
	free, err := d.config.HandshakeLimiter.admit(ctx, c)
	if err != nil {
		return "", err
	}
	defer free()
	if epoll.HungUp(socketOf(c)) { // the client gave up while it waited
		return "", net.ErrClosed
	}
	id, err := d.identify(ctx, c)
	if err == nil {
		d.config.HandshakeLimiter.authenticated(c)
	}
	return id, err
}

func (d *Server) identify(ctx context.Context, c net.Conn) (fleet.TargetID, error) {
	t, ok := c.(*tls.Conn)
	if !ok {
		return "", errors.New("a connection without TLS")
	}
	if err := t.HandshakeContext(ctx); err != nil {
		return "", err
	}
	state := t.ConnectionState()
	id, err := d.config.Identify(&state)
	if err == nil {
		_, err = fleet.ParseTargetID(string(id))
	}
	if err == nil {
		_, err = d.config.Versions.agreed(&state)
	}
	if err == nil {
		return id, nil
	}
	var versions *Versions
	if e := AsVersionError(err); e != nil {
		versions = &e.Hub
		if d.config.Incompatible != nil {
			d.config.Incompatible(id, e)
		}
	} else {
		d.config.Warn("refused a connection: " + err.Error())
	}
	_ = t.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = t.Write(packRefused(versions)) // if it is lost, the agent reconnects all the same
	return "", err
}

// Local returns a connection of a target within this process, without authentication.
func (d *Server) Local(id fleet.TargetID) net.Conn {
	here, there := net.Pipe()
	d.letIn(here, id)
	return there
}

func (d *Server) letIn(c net.Conn, id fleet.TargetID) {
	socket := socketOf(c)
	d.mu.Lock()
	d.last++
	g := &serverConn{server: d, id: id, number: d.last, conn: c, more: true}
	if socket != nil && d.parks() {
		g.socket = socket
	}
	closed := d.closed
	if !closed {
		d.connGroup.Add(1)
		d.all[g.number] = g
	}
	d.mu.Unlock()
	if closed {
		_ = c.Close()
		return
	}
	d.config.Admit(id, g.number)
	d.mu.Lock()
	d.of[id] = append(d.of[id], g)
	d.mu.Unlock()
	g.add(func(b []byte) []byte { return packHello(b, g.number, d.config.Name) })
	go g.read()
}

// parks returns true if connections can be parked. It must be called with the lock held.
func (d *Server) parks() bool {
	if d.parking == nil && !d.closed {
		p, err := epoll.New()
		if err != nil {
			return false // each connection then has a goroutine
		}
		d.parking = p
		go p.Wait(d.wake)
	}
	return d.parking != nil
}

func (d *Server) broke(id fleet.TargetID, why string) {
	if d.config.OnViolation != nil {
		d.config.OnViolation(id, why)
	}
}

func (d *Server) forget(g *serverConn) {
	d.mu.Lock()
	delete(d.all, g.number)
	if d.of[g.id] = slices.DeleteFunc(d.of[g.id], func(o *serverConn) bool { return o == g }); len(d.of[g.id]) == 0 {
		delete(d.of, g.id)
	}
	d.mu.Unlock()
	d.config.OnDisconnect(g.number)
	d.connGroup.Done()
}

// heard delivers a message of an agent to its subscribers. If a request has none, the agent is
// informed.
func (d *Server) heard(g *serverConn, subject, reply string, body []byte) {
	m := Message{Subject: Up(g.id, subject), Body: body}
	if reply != "" {
		m.Reply = Down(g.id, reply)
	}
	if !d.give(subject, m) && reply != "" {
		g.add(func(b []byte) []byte { return appendFrame(b, kindNobody, []byte(reply)) })
	}
}

// give calls the subscribers of a subject after f.ID.up., and returns false if there are none.
func (d *Server) give(rest string, m Message) bool {
	d.mu.RLock()
	receivers := d.receivers
	d.mu.RUnlock()
	any := false
	var groups []string
	for _, r := range receivers {
		if !covers(r.pattern, rest) || r.group != "" && slices.Contains(groups, r.group) {
			continue
		}
		groups = append(groups, r.group)
		any = true
		r.each(m)
	}
	return any
}

// Receive calls each for the messages of agents to a subject that begins with f.*.up. Messages of
// one agent arrive in order, and messages of several agents concurrently. each must return soon. Of
// the subscribers with the same group, one is called; "" means no group. Other subjects are an
// error.
func (d *Server) Receive(subject, group string, each func(Message)) error {
	rest, ok := strings.CutPrefix(subject, "f.*.up.")
	if !ok {
		return fmt.Errorf("cannot subscribe to %s: agents send only below f.*.up", subject)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.receivers = append(slices.Clip(d.receivers), receiver{strings.Split(rest, "."), group, each})
	return nil
}

// Send sends a message to the agent of the subject, on all of its connections. It does not wait
// until the agent has received it. If the agent has no connection, the subscriber of reply receives
// a message with NoReceiver set.
func (d *Server) Send(subject, reply string, body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("cannot send %d bytes at once: the maximum is %d", len(body), MaxBody)
	}
	id := targetOf(subject)
	e := endsOf(id)
	down, ok := strings.CutPrefix(subject, e.down)
	up, back := strings.CutPrefix(reply, e.up)
	if !ok || !isPlain(down) || reply != "" && (!back || !isPlain(up)) {
		return fmt.Errorf("cannot send %s with an answer to %q: an agent can use only its own subjects", subject, reply)
	}
	d.mu.RLock()
	to := slices.Clone(d.of[id])
	d.mu.RUnlock()
	for _, g := range to {
		g.add(func(b []byte) []byte { return packMessage(b, down, up, body) })
	}
	if len(to) == 0 && reply != "" {
		d.give(up, Message{Subject: reply, NoReceiver: true})
	}
	return nil
}

// Place returns the name of this hub. The connection is 0.
func (d *Server) Place() (server string, connection uint64) { return d.config.Name, 0 }

// Kick ends a connection. An ended connection is ignored.
func (d *Server) Kick(connection uint64) {
	if g := d.conn(connection); g != nil {
		g.dismiss()
	}
}

func (d *Server) wake(connection uint64) {
	if g := d.conn(connection); g != nil {
		g.wake()
	}
}

// conn returns the connection with this number, or nil if it has ended.
func (d *Server) conn(connection uint64) *serverConn {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[connection]
}

// Open returns the number of authenticated connections.
func (d *Server) Open() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.all)
}

// Ended returns how many connections were ended because the agent did not read, and how many
// because nothing arrived.
func (d *Server) Ended() (slow, stale int64) { return d.slow.Load(), d.stale.Load() }
