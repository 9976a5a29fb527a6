package bus

import (
	"cmp"
	"context"
	"crypto/tls"
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

// readyTime limits the start of the server, which reads its directory.
const readyTime = time.Minute

// Server is a bus in this process.
type Server struct {
	config Config
	nats   *server.Server // nil if a NATS cluster of others stores the data
	secret string         // of connections within the process

	said  said
	ended chan string // why the store has stopped by itself

	agentServer *agentconn.Server
	listener    net.Listener // for agents; nil while it is closed
	exchange    *Exchange
	js          jetstream.JetStream
	external    *externalNats // the NATS cluster that stores the data; nil if the hub does
	owned       []*nats.Conn
	renewed     renewals // of the owned connections
	cancel      context.CancelFunc
	closing     sync.Once
}

// Start starts a bus in its directory, and returns when it is usable. A cluster is usable when most
// of its hubs are reachable. Acknowledged data survives a crash. When ctx ends, the server closes.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{config: c, secret: newToken() + newToken(), cancel: cancel, ended: make(chan string, 1)}
	// The start can wait for other hubs; it stops waiting when ctx ends.
	begun := context.AfterFunc(ctx, cancel)
	if err := s.begin(inner); err != nil {
		s.Close()
		return nil, err
	}
	begun()
	context.AfterFunc(ctx, s.Close)
	return s, nil
}

// begin opens the store before the listener for agents, so that the hub can handle their messages.
func (s *Server) begin(ctx context.Context) (err error) {
	s.agentServer = agentconn.NewServer(agentconn.Config{
		Name: newToken(), Identify: s.config.Identify, Ready: s.config.Ready, HandshakeLimiter: s.config.HandshakeLimiter,
		Warn: s.warn, MaxConnections: orElse(s.config.MaxConnections, MaxConnections),
		Watch:        agentconn.Watch{Every: orElse(s.config.Ping, 20*time.Second), Most: 4},
		Admit:        func(id fleet.TargetID, connection uint64) { s.exchange.Admit(id, connection) },
		OnDisconnect: func(connection uint64) { s.exchange.Gone(connection) },
		OnViolation:  s.config.OnViolation, Versions: s.config.Versions, Incompatible: s.config.Incompatible,
	})
	if s.exchange, err = NewExchange(ctx, s.agentServer, s.agentServer.Kick); err != nil {
		return err
	}
	s.exchange.broke = s.config.OnViolation
	if s.config.ExternalNats != nil {
		err = s.goAbroad(ctx, s.exchange)
	} else {
		err = s.keep(ctx)
	}
	if err != nil {
		return err
	}
	return s.open()
}

// open accepts agents.
func (s *Server) open() (err error) {
	if s.config.DontListen {
		return nil
	}
	own := net.ListenConfig{KeepAlive: -1} // agent connections have their own pings
	if s.listener, err = own.Listen(context.Background(), "tcp", s.config.Listen); err != nil {
		return fmt.Errorf("cannot listen for agents: %w", err)
	}
	go func() {
		_ = s.agentServer.Serve(tls.NewListener(s.config.Budget.Limit(s.listener, s.warn), s.versions().Accept(strict(s.config.TLS, nil))))
	}()
	return nil
}

func (s *Server) versions() Versions { return cmp.Or(s.config.Versions, agentconn.OwnVersions()) }

// keep starts the server that stores the data in this hub's directory, and connects the hub to it.
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
		if err := s.exchange.relayOver(ctx, s.config.Name, newBetween(overNATS{hub}, "", nil),
			s.config.Load); err != nil {
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

// make prepares the directory and creates the server. founds is true if the hub founds a cluster.
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
		return false, fmt.Errorf("cannot create the bus: %w", err)
	}
	s.nats.SetLoggerV2(sayings{s}, false, false, false)
	return founds, nil
}

// flush waits until the server has received all sent messages. The other flush of the NATS library
// uses timers that the whole process shares, which does not work with virtual time in tests.
func flush(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	return nc.FlushWithContext(ctx)
}

// awaitStore waits until the store answers. In a cluster this needs a leader.
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

// persist repeats do while the store of a cluster refuses it because too few hubs are reachable.
func (s *Server) persist(ctx context.Context, do func(context.Context) error) error {
	return persist(ctx, do, func(error) bool { return s.config.Cluster == nil })
}

// persist repeats do until it succeeds, its error is final, or ctx or askTime ends. It returns the
// last error.
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

// reconnected restarts all subscriptions after one of the hub's own connections was replaced. The
// server ends a connection that reads too slowly.
func (s *Server) reconnected() {
	s.warn("a connection of the hub to its own bus read too slowly and was replaced. If this continues, this machine is overloaded")
	s.renewed.begin()
}

// IsRemoved returns true if the other hubs have removed this hub from the vote: it no longer stores
// anything.
func (s *Server) IsRemoved() bool {
	return s.config.ExternalNats != nil || s.config.Cluster != nil && !s.nats.JetStreamEnabled()
}

// IsConnected returns true if there is a connection to the named hub of the cluster.
func (s *Server) IsConnected(name string) bool {
	return s.nats != nil && name != s.nats.Name() && slices.Contains(s.connectedHubs(), name)
}

// Voters returns the number of hubs that vote on changes, 0 if it is unknown.
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

// connectedHubs returns the names of this hub and of all hubs with a connection to it.
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

// Exchange returns the hub's end of all links.
func (s *Server) Exchange() *Exchange { return s.exchange }

// Address returns the address for agents, nil if the server does not listen.
func (s *Server) Address() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// ClusterAddress returns the address for other hubs, nil for a single hub.
func (s *Server) ClusterAddress() net.Addr {
	if s.config.Cluster == nil {
		return nil
	}
	return s.nats.ClusterAddr()
}

// Local returns the configuration of a link within this process, without a certificate.
func (s *Server) Local(id fleet.TargetID) LinkConfig { return LinkConfig{ID: id, local: s} }

// Connections returns the number of open connections of agents.
func (s *Server) Connections() int { return s.agentServer.Open() }

// Close ends all connections and the server, and waits until they have ended. It may be called
// again.
func (s *Server) Close() {
	s.closing.Do(func() {
		s.agentServer.Close(s.config.LameDuck)
		s.cancel()
		if s.exchange.relay != nil {
			<-s.exchange.relay.done
		}
		s.external.close()
		for _, nc := range s.owned {
			nc.Close()
		}
		if s.nats == nil {
			return
		}
		if s.config.Cluster != nil && s.config.LameDuck > 0 {
			s.nats.LameDuckShutdown() // transfers the leadership before this hub is gone
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

// sayings logs important messages of the server.
type sayings struct{ s *Server }

func (l sayings) Noticef(string, ...any) {}
func (l sayings) Debugf(string, ...any)  {}
func (l sayings) Tracef(string, ...any)  {}

// usual are warnings of the server that operators do not need. TLS for clients is configured on
// purpose. The other warnings appear while hubs of a cluster synchronise, or when a directory is
// recovered after a crash.
var usual = [...]string{
	"TLS Handshake First", "TLS certificate chain and hostname of solicited routes", "not established contact with a meta leader", "Waiting for routing",
	"Catchup for stream", "not current with the meta leader", "stream remapping", "consumer remapping", "blocking snapshot", "could not replace peer",
	"not cleaned up, retrying", "TTL state is outdated", "Stream state outdated", "Recovering stream state from index", "Falling behind in health check",
	"Health check OK", "Did not receive all stream info", "our server was removed from the cluster",
	"Stream state too short", "Stream state encountered internal inconsistency", "Stream state bad checksum",
}

func (l sayings) Warnf(format string, v ...any) { l.once(fmt.Sprintf(format, v...)) }

// Errorf shortens messages about attempts to reach another hub.
func (l sayings) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if why, route := strings.CutPrefix(text, "Error trying to connect to route ("); route {
		_, why, _ = strings.Cut(why, "): ")
		text = "another hub cannot be reached: " + why + refusedHint(why)
	}
	l.s.heard(text)
	l.once(text)
}

// once logs a text unless the same text was logged within sayEvery, for any connection.
func (l sayings) once(text string) {
	if slices.ContainsFunc(usual[:], func(u string) bool { return strings.Contains(text, u) }) {
		return
	}
	text = plain(text)
	if at, what, of := strings.Cut(text, " - "); of && strings.Contains(at, ":") {
		if _, what, of = strings.Cut(what, " - "); of { // HOST:PORT - rid:1 - message
			host, _, _ := strings.Cut(at, ":")
			text = host + ": " + what
		}
	}
	if l.s.said.first(text, time.Now()) {
		l.s.warn(text)
	}
}

// sayEvery is the time during which a text is not repeated.
const sayEvery = time.Minute

// said has the time of the last message of each text.
type said struct {
	mu sync.Mutex
	at map[string]time.Time
}

// first returns true, and records the text, if it was not said within sayEvery.
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
