package bus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
)

// readyTime is how long a server may take until it answers: recovery reads its directory.
const readyTime = time.Minute

// Server is a bus, in this process.
type Server struct {
	config Config
	nats   *server.Server // nil where everything is kept abroad
	secret string         // of connections within the process

	said  said
	ended chan string // why the store has stopped by itself

	agentServer *agentconn.Server
	listener    net.Listener // of the door, nil while it is closed
	exchange    *Exchange
	js          jetstream.JetStream
	abroad      *abroad // where everything is kept, nil for a hub that keeps it itself
	owned       []*nats.Conn
	anew        renewals // of those
	cancel      context.CancelFunc
	closing     sync.Once
}

// Start starts a bus in its directory, and returns when it can be used. A cluster can when
// most of its hubs are there. What was acknowledged before an unclean stop is there
// again. When ctx ends the server closes.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{config: c, secret: newToken() + newToken(), cancel: cancel, ended: make(chan string, 1)}
	// Others may be waited for: who is to end does not.
	begun := context.AfterFunc(ctx, cancel)
	if err := s.begin(inner); err != nil {
		s.Close()
		return nil, err
	}
	begun()
	context.AfterFunc(ctx, s.Close)
	return s, nil
}

// begin opens where everything is kept, and then the door: nobody comes before the hub can
// hear.
func (s *Server) begin(ctx context.Context) (err error) {
	s.agentServer = agentconn.NewServer(agentconn.Config{
		Name: newToken(), Identify: s.config.Identify, Ready: s.config.Ready, HandshakeLimiter: s.config.HandshakeLimiter, Warn: s.warn, Most: orElse(s.config.MaxConnections, 50_000),
		Watch: agentconn.Watch{Every: orElse(s.config.Ping, 20*time.Second), Most: 4},
		Admit: func(id fleet.TargetID, connection uint64) { s.exchange.Admit(id, connection) },
		Gone:  func(connection uint64) { s.exchange.Gone(connection) },
		Broke: s.config.Broke, Versions: s.config.Versions, Incompatible: s.config.Incompatible,
	})
	if s.exchange, err = NewExchange(ctx, s.agentServer, s.agentServer.Kick); err != nil {
		return err
	}
	s.exchange.broke = s.config.Broke
	if s.config.Foreign != nil {
		err = s.goAbroad(ctx, s.exchange)
	} else {
		err = s.keep(ctx)
	}
	if err != nil {
		return err
	}
	return s.open()
}

// open lets agents in.
func (s *Server) open() (err error) {
	if s.config.DontListen {
		return nil
	}
	own := net.ListenConfig{KeepAlive: -1} // the line looks itself
	if s.listener, err = own.Listen(context.Background(), "tcp", s.config.Listen); err != nil {
		return fmt.Errorf("cannot listen for agents: %w", err)
	}
	go func() {
		_ = s.agentServer.Serve(tls.NewListener(s.config.Budget.Limit(s.listener, s.warn), s.versions().Accept(strict(s.config.TLS, nil))))
	}()
	return nil
}

func (s *Server) versions() Versions { return cmp.Or(s.config.Versions, agentconn.OwnVersions()) }

// keep starts the server that keeps everything in this hub's directory, and the hub's own
// connections with it.
func (s *Server) keep(ctx context.Context) error {
	founds, err := s.make()
	if err != nil {
		return err
	}
	go s.nats.Start()
	if !s.nats.ReadyForConnections(readyTime) {
		return fmt.Errorf("cannot start the bus: it was not ready within %s", readyTime)
	}
	leave, err := s.accompany()
	if err != nil {
		return err
	}
	defer leave()
	for _, user := range []string{userSystem, userHub, userHub} {
		nc, err := s.own(user)
		if err != nil {
			return err
		}
		s.owned = append(s.owned, nc)
	}
	hub, keeper := s.owned[1], s.owned[2]
	if s.config.Cluster != nil {
		if err := s.exchange.relayOver(ctx, s.config.Name, newBetween(overNATS{hub}, "", nil)); err != nil {
			return err
		}
	}
	if s.js, err = jetstream.New(keeper); err != nil {
		return fmt.Errorf("cannot use the store of the bus: %w", err)
	}
	if err := s.awaitStore(ctx); err != nil || !founds {
		return err
	}
	return s.bring(ctx)
}

// make prepares the directory, and makes the server; founds tells whether it begins a cluster.
func (s *Server) make() (founds bool, err error) {
	o, err := s.config.options()
	if err != nil {
		return false, err
	}
	if founds, err = s.config.founds(); err == nil {
		err = s.config.prepare(founds)
	}
	if err != nil {
		return false, err
	}
	o.CustomClientAuthentication = s
	if s.nats, err = server.NewServer(o); err != nil {
		return false, fmt.Errorf("cannot make a bus: %w", err)
	}
	s.nats.SetLoggerV2(sayings{s}, false, false, false)
	return founds, nil
}

// flush waits until the server has seen all that was sent. The library's other way to do
// so has timers that all of a process shares, which virtual time does not bear.
func flush(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	return nc.FlushWithContext(ctx)
}

// awaitStore waits until the store answers; in a cluster that needs a leader.
func (s *Server) awaitStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		once, stop := context.WithTimeout(ctx, 2*time.Second)
		_, err := s.js.AccountInfo(once)
		stop()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot use the store of the bus: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// persist does what the store of a cluster may refuse until enough hubs are there.
func (s *Server) persist(ctx context.Context, do func(context.Context) error) error {
	return persist(ctx, do, func(error) bool { return s.config.Cluster == nil })
}

// persist does something again until it goes well, fails for good, or was waited for as
// long as anything is; the error is then the last.
func persist(ctx context.Context, do func(context.Context) error, final func(error) bool) error {
	ctx, cancel := withAskTime(ctx)
	defer cancel()
	for {
		once, stop := context.WithTimeout(ctx, 10*time.Second)
		err := do(once)
		stop()
		if err == nil || final(err) || !pause(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

// reconnected makes up for what was missed while a connection of the hub's own was gone: the
// server ends one that is behind with reading.
func (s *Server) reconnected() {
	s.warn("a connection of the hub to its own bus was ended and made again: it was behind with reading. If that goes on, this machine has more to do than it can")
	s.anew.begin()
}

// Left tells whether the others have taken this hub's vote: it keeps nothing any more.
func (s *Server) Left() bool {
	return s.config.Foreign != nil || s.config.Cluster != nil && !s.nats.JetStreamEnabled()
}

// IsConnected tells whether there is a connection with another hub of the cluster.
func (s *Server) IsConnected(name string) bool {
	return s.nats != nil && name != s.nats.Name() && slices.Contains(s.connectedHubs(), name)
}

// Voters is how many hubs have a vote on what is changed, 0 if this one does not know.
func (s *Server) Voters() int {
	if s.nats == nil {
		return 0
	}
	js, err := s.nats.Jsz(&server.JSzOptions{})
	if err != nil || js.Meta == nil {
		return 0
	}
	return js.Meta.Size
}

// connectedHubs are the hubs to which there is a connection, and this one.
func (s *Server) connectedHubs() []string {
	names := []string{s.nats.Name()}
	all, err := s.nats.Routez(&server.RoutezOptions{})
	if err != nil {
		return names
	}
	for _, r := range all.Routes {
		if r.RemoteName != "" && !slices.Contains(names, r.RemoteName) {
			names = append(names, r.RemoteName)
		}
	}
	return names
}

// Exchange is the hub's end of all links.
func (s *Server) Exchange() *Exchange { return s.exchange }

// Address is where agents connect, nil for a server that does not listen.
func (s *Server) Address() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// ClusterAddress is where other hubs connect, nil for a hub alone.
func (s *Server) ClusterAddress() net.Addr {
	if s.config.Cluster == nil {
		return nil
	}
	return s.nats.ClusterAddr()
}

// Local is how a target in this process links to the server, without a certificate.
func (s *Server) Local(id fleet.TargetID) LinkConfig { return LinkConfig{ID: id, local: s} }

// Connections is how many agents' connections are open now.
func (s *Server) Connections() int { return s.agentServer.Open() }

// Healthy gives what is wrong with the store of the bus, nil for nothing.
func (s *Server) Healthy() error {
	if s.abroad != nil {
		return s.abroad.healthy()
	}
	if h := s.nats.Healthz(&server.HealthzOptions{JSEnabledOnly: s.config.Cluster == nil}); h.Status != "ok" {
		return fmt.Errorf("the bus is not well: %s", h.Error)
	}
	// The server elects itself again and again, and reports that it is well meanwhile.
	if s.config.Cluster != nil && len(s.connectedHubs()) <= s.Voters()/2 {
		return errors.New("the bus is not well: most hubs cannot be reached")
	}
	return nil
}

// Close ends all connections and the server, and waits for it. It may be called again.
func (s *Server) Close() {
	s.closing.Do(func() {
		s.agentServer.Close(s.config.LameDuck)
		s.cancel()
		if s.exchange.relay != nil {
			<-s.exchange.relay.done
		}
		s.abroad.close()
		for _, nc := range s.owned {
			nc.Close()
		}
		if s.nats == nil {
			return
		}
		if s.config.Cluster != nil && s.config.LameDuck > 0 {
			s.nats.LameDuckShutdown() // others lead before this one is gone
		}
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	})
}

func (s *Server) warn(text string) {
	if s.config.Warn != nil {
		s.config.Warn(text)
	}
}

// sayings hands on what the server has to say where it matters.
type sayings struct{ s *Server }

func (l sayings) Noticef(string, ...any) {}
func (l sayings) Debugf(string, ...any)  {}
func (l sayings) Tracef(string, ...any)  {}

// usual are what the server warns of and nobody has to know: that clients begin with TLS is
// what Config says, and the rest is how hubs of a cluster come to have the same, and how a
// directory is read again after a kill.
var usual = [...]string{
	"TLS Handshake First", "TLS certificate chain and hostname of solicited routes", "not established contact with a meta leader", "Waiting for routing",
	"Catchup for stream", "not current with the meta leader", "stream remapping", "consumer remapping", "blocking snapshot", "could not replace peer",
	"not cleaned up, retrying", "TTL state is outdated", "Stream state outdated", "Recovering stream state from index", "Falling behind in health check",
	"Health check OK", "Did not receive all stream info", "our server was removed from the cluster",
	"Stream state too short", "Stream state encountered internal inconsistency", "Stream state bad checksum",
}

func (l sayings) Warnf(format string, v ...any) { l.once(fmt.Sprintf(format, v...)) }

// Errorf leaves out attempts to reach another hub behind the first one.
func (l sayings) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if why, route := strings.CutPrefix(text, "Error trying to connect to route ("); route {
		_, why, _ = strings.Cut(why, "): ")
		text = "another hub cannot be reached: " + why + refusedHint(why)
	}
	l.s.heard(text)
	l.once(text)
}

// once says a text that has not been said lately, whichever connection it is of.
func (l sayings) once(text string) {
	if slices.ContainsFunc(usual[:], func(u string) bool { return strings.Contains(text, u) }) {
		return
	}
	text = plain(text)
	if at, what, of := strings.Cut(text, " - "); of && strings.Contains(at, ":") {
		if _, what, of = strings.Cut(what, " - "); of { // HOST:PORT - rid:1 - what
			host, _, _ := strings.Cut(at, ":")
			text = host + ": " + what
		}
	}
	if l.s.said.first(text, time.Now()) {
		l.s.warn(text)
	}
}

// sayEvery is how long the same is not said again.
const sayEvery = time.Minute

// said is when something was said last.
type said struct {
	mu sync.Mutex
	at map[string]time.Time
}

// first tells whether a text is worth saying.
func (s *said) first(text string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.at, func(_ string, at time.Time) bool { return now.Sub(at) >= sayEvery })
	if _, again := s.at[text]; again {
		return false
	}
	if s.at == nil {
		s.at = map[string]time.Time{}
	}
	s.at[text] = now
	return true
}

func (l sayings) Fatalf(format string, v ...any) { l.s.warn(fmt.Sprintf(format, v...)) }
