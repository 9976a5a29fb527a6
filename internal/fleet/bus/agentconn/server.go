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

// handshakeTime is how long a connection may take until it has said whose it is.
const handshakeTime = 15 * time.Second

// Config is what a Server is.
type Config struct {
	Name string // of this hub's process: letters, digits and -
	// Identify tells whose a connection is, whose certificate was verified. It is asked once
	// for each, from many goroutines. An error sends it away.
	Identify func(*tls.ConnectionState) (fleet.TargetID, error)
	// Ready is closed when agents may come in; nil is at once. Who comes before waits, in the
	// kernel: a connection that is ended comes again, and each time that costs both ends more
	// than to wait.
	Ready <-chan struct{}
	// HandshakeLimiter bounds the handshakes that go on at once; nil is one of the door's own.
	HandshakeLimiter *HandshakeLimiter
	// Admit is told of a connection before anything comes from it, and Gone of its end, after
	// which nothing does. Both are called from many goroutines.
	Admit func(id fleet.TargetID, connection uint64)
	Gone  func(connection uint64)
	// Versions are the protocol versions that are accepted; the zero value is OwnVersions.
	Versions Versions
	// Incompatible is called for each agent that was refused because of its version. It must
	// return at once; nil calls nothing.
	Incompatible func(id fleet.TargetID, e *VersionError)
	Most         int // connections at once, those included that are not let in yet
	Watch        Watch
	// MostHeld is how many bytes may wait for all agents, which do not take them; 0 is 256 MiB.
	MostHeld int64
	// Broke is told of an agent whose connection was ended since it does not keep to the
	// protocol or floods, and why; nil when nobody is. It returns at once.
	Broke func(id fleet.TargetID, why string)
	// Warn is told whom a hub refuses.
	Warn func(text string)
}

// Server is the hub's end of all its connections with agents.
type Server struct {
	config      Config
	life        context.Context // ends with the server
	end         context.CancelFunc
	handshaking atomic.Int64 // connections that are not let in yet
	slow        atomic.Int64
	stale       atomic.Int64
	held        atomic.Int64   // bytes that wait for agents
	connGroup   sync.WaitGroup // those in all, until their end was told of

	relieving sync.Mutex // is taken before any other

	mu        sync.RWMutex
	last      uint64
	all       map[uint64]*serverConn
	of        map[fleet.TargetID][]*serverConn
	receivers []receiver
	listener  net.Listener
	// parking is where connections wait that have nothing to read, nil until there are any. A
	// goroutine that waits to read has a stack for what it does when it reads, 8 KB for
	// TLS, and nearly all connections rest.
	parking *epoll.Set
	closed  bool
}

// receiver is one who hears.
type receiver struct {
	pattern []string // of what follows f.ID.up.
	group   string
	each    func(Message)
}

// NewServer makes one that nobody has come through. It lives until it is closed.
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

// Serve lets in who comes, until the listener or the door is closed. The listener gives
// connections of TLS, and is closed with the door.
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
		wait = min(max(2*wait, 5*time.Millisecond), time.Second) // there are no more files, as a rule: others will end
		if !d.pause(wait) {
			return nil
		}
	}
}

// handshake makes the handshake. It has its own goroutine: the reader is a new one with a small stack.
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

// admit waits for the turn of a connection, and makes its handshake.
func (d *Server) admit(c net.Conn) (fleet.TargetID, error) {
	if d.config.Most > 0 && d.Open()+int(d.handshaking.Load()) > d.config.Most {
		return "", ErrTooManyHandshakes
	}
	ctx, cancel := context.WithTimeout(d.life, handshakeTime)
	defer cancel()
	free, err := d.config.HandshakeLimiter.admit(ctx, c)
	if err != nil {
		return "", err
	}
	defer free()
	if epoll.HungUp(socketOf(c)) { // it gave up while it waited
		return "", net.ErrClosed
	}
	return d.identify(ctx, c)
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
	_, _ = t.Write(packRefused(versions)) // it comes again in any case
	return "", err
}

// Local is a connection of a target within this process, which nobody has to prove.
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

// parks tells whether connections can be parked. It needs the lock.
func (d *Server) parks() bool {
	if d.parking == nil && !d.closed {
		p, err := epoll.New()
		if err != nil {
			return false // each has a goroutine then
		}
		d.parking = p
		go p.Wait(d.wake)
	}
	return d.parking != nil
}

func (d *Server) broke(id fleet.TargetID, why string) {
	if d.config.Broke != nil {
		d.config.Broke(id, why)
	}
}

func (d *Server) forget(g *serverConn) {
	d.mu.Lock()
	delete(d.all, g.number)
	if d.of[g.id] = slices.DeleteFunc(d.of[g.id], func(o *serverConn) bool { return o == g }); len(d.of[g.id]) == 0 {
		delete(d.of, g.id)
	}
	d.mu.Unlock()
	d.config.Gone(g.number)
	d.connGroup.Done()
}

// heard gives a message of an agent to those who receive it, and tells the agent where
// nobody does.
func (d *Server) heard(g *serverConn, subject, reply string, body []byte) {
	m := Message{Subject: Up(g.id, subject), Body: body}
	if reply != "" {
		m.Reply = Down(g.id, reply)
	}
	if !d.give(subject, m) && reply != "" {
		g.add(func(b []byte) []byte { return appendFrame(b, kindNobody, []byte(reply)) })
	}
}

// give calls those who receive what follows f.ID.up., and tells whether anybody does.
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

// Receive has each called for what agents send under f.*.up. and what follows: in the order of
// its sender, and for several senders at once. each returns soon. Of those who give the same
// group, "" being none, one is called. It is an error to want something else.
func (d *Server) Receive(subject, group string, each func(Message)) error {
	rest, ok := strings.CutPrefix(subject, "f.*.up.")
	if !ok {
		return fmt.Errorf("cannot hear %s of agents: they say what is below f.*.up", subject)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.receivers = append(slices.Clip(d.receivers), receiver{strings.Split(rest, "."), group, each})
	return nil
}

// Send gives a message to the agent whose subject it is, on all of its connections. It does not
// wait for it. Where there is none and an answer is wanted, who receives that hears that there
// is Nobody.
func (d *Server) Send(subject, reply string, body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("cannot send %d bytes at once: %d are the most", len(body), MaxBody)
	}
	id := targetOf(subject)
	e := endsOf(id)
	down, ok := strings.CutPrefix(subject, e.down)
	up, back := strings.CutPrefix(reply, e.up)
	if !ok || !isPlain(down) || reply != "" && (!back || !isPlain(up)) {
		return fmt.Errorf("cannot send %s with an answer to %q: an agent hears what is its own", subject, reply)
	}
	d.mu.RLock()
	to := slices.Clone(d.of[id])
	d.mu.RUnlock()
	for _, g := range to {
		g.add(func(b []byte) []byte { return packMessage(b, down, up, body) })
	}
	if len(to) == 0 && reply != "" {
		d.give(up, Message{Subject: reply, Nobody: true})
	}
	return nil
}

// Place is this hub, and no connection in particular.
func (d *Server) Place() (server string, connection uint64) { return d.config.Name, 0 }

// Kick ends a connection. One that has ended is ignored.
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

// serverConn is the one of a connection, nil for one that has ended.
func (d *Server) conn(connection uint64) *serverConn {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[connection]
}

// Open is how many are let in.
func (d *Server) Open() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.all)
}

// Ended is how many connections were ended since they did not take what they were sent, and
// how many since nothing came from them.
func (d *Server) Ended() (slow, stale int64) { return d.slow.Load(), d.stale.Load() }
