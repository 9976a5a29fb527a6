package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
	"fettle.dev/fettle/internal/host"
)

// HandshakeLimiter lets those who connect begin their handshakes in turn.
type HandshakeLimiter = agentconn.HandshakeLimiter

// NewHandshakeLimiter makes one.
func NewHandshakeLimiter() *HandshakeLimiter { return agentconn.NewHandshakeLimiter() }

// Versions are the protocol versions that one end speaks.
type Versions = agentconn.Versions

// VersionError is that a hub and an agent speak no version in common.
type VersionError = agentconn.VersionError

// Config is what a Server is. Dir is always needed; Listen, TLS and Identify are unless
// DontListen is set.
type Config struct {
	Dir    string // everything durable is below it
	Name   string // of this hub, unique among those that form a cluster
	Listen string // HOST:PORT for agents; port 0 takes any that is free
	// DontListen keeps the server within the process: for tests.
	DontListen bool
	// TLS has the certificate and the authorities. That it is TLS 1.3, and that agents
	// show a certificate, is seen to here.
	TLS *tls.Config
	// Identify tells whose a verified connection is. It is asked once for each, from
	// many goroutines, and refuses with an error who is revoked.
	Identify func(*tls.ConnectionState) (fleet.TargetID, error)

	// Ready is closed when agents may come in, who wait until then; nil is at once.
	Ready <-chan struct{}
	// Turnstile bounds the handshakes that go on at once, together with those of others that
	// have the same one; nil is one of its own.
	HandshakeLimiter *HandshakeLimiter

	// Budget limits the connections of agents, those included that have not authenticated; the
	// zero value has no limit.
	Budget agentconn.Budget

	MaxConnections int           // 0 is 50,000
	Ping           time.Duration // how often is looked whether an agent said anything, which is gone when the fourth look finds nothing; 0 is 20 s
	LameDuck       time.Duration // over which Close sends agents away, to other hubs; 0 is at once
	MaxStore       int64         // bytes of Dir; 0 is 16 GiB
	// Cluster joins hubs to one bus; nil is a hub alone.
	Cluster *Cluster
	// Foreign keeps everything on a cluster that others run; nil is in Dir. It is not both a
	// Cluster and Foreign.
	Foreign *Foreign
	// Warn is told what the server has to say, nil when nobody is.
	Warn func(text string)
	// Broke is told of an agent that does not keep to the protocol, or sends or wants more
	// than there is room for; nil when nobody is. It is called as often as that happens, and
	// returns at once.
	Broke func(id fleet.TargetID, why string)
	// Versions are the protocol versions that agents may speak; the zero value is
	// agentconn.OwnVersions.
	Versions Versions
	// Incompatible is called for each agent that was refused because of its protocol version.
	// It must return at once; nil calls nothing.
	Incompatible func(id fleet.TargetID, e *VersionError)
}

// Cluster is a bus of several hubs.
type Cluster struct {
	Name   string
	Listen string   // HOST:PORT for the other hubs
	Routes []string // HOST:PORT of the others
	// TLS is used in both directions: a hub shows its certificate and wants one.
	TLS *tls.Config
	// Identify refuses with an error who is no hub of this fleet. Both ends of a route
	// ask it, about the other one.
	Identify func(*tls.ConnectionState) error
	// Replicas is how many hubs keep what is new: 1, 3 or 5; 0 is 1. What is there already
	// is kept as it is: see Server.Tend.
	Replicas int
	// Peers are the names of the hubs that are known, this one's among them, and Files is
	// what the directory is prepared through. A hub that knows nobody else begins a cluster
	// with all that it had alone; another waits until most of those whom it knows are
	// there. nil leaves it to the server, which waits for as many as there are Routes.
	Files host.FS
	Peers []string
}

func (c Config) check() error {
	switch {
	case c.Dir == "":
		return errors.New("cannot start a bus without a directory")
	case !c.DontListen && (c.TLS == nil || c.Identify == nil):
		return errors.New("cannot start a bus without a certificate and a way to tell whose a connection is")
	case c.Cluster != nil && (c.Name == "" || c.Cluster.Name == "" || c.Cluster.TLS == nil || c.Cluster.Identify == nil):
		return errors.New("cannot join a cluster without a name for it and for the hub, a certificate, and a way to tell who is a hub")
	case c.Cluster != nil && c.Cluster.Files != nil && !slices.Contains(c.Cluster.Peers, c.Name):
		return errors.New("cannot join a cluster that does not know this hub")
	case c.Cluster != nil && c.Foreign != nil:
		return errors.New("cannot keep everything in a cluster of hubs and on another one")
	case c.Foreign != nil:
		return c.Foreign.Check()
	}
	return nil
}

func (c Config) replicas() int {
	if c.Cluster == nil {
		return 1
	}
	return orElse(c.Cluster.Replicas, 1)
}

// maxPending is how much waits for one of the hub's own connections before the server ends it, in
// bytes: what is kept of tens of thousands has to fit, since it is read at once.
const maxPending = 256 << 20

// writeTime is how long a connection may take none of what waits for it.
const writeTime = 10 * time.Second

// options are those of the server that keeps everything. Nothing is left to a default that opens
// something: nobody but this hub and the others of a cluster connects, there is no HTTP, no leaf
// node, no gateway, no websocket, no MQTT, and no user without a name.
func (c Config) options() (*server.Options, error) {
	o := &server.Options{
		ServerName: c.Name, DontListen: true, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: c.storeDir(), SyncAlways: true, DisableJetStreamBanner: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: orElse(c.MaxStore, 16<<30),
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
		MaxPayload:      agentconn.MaxBody, MaxPending: maxPending, MaxControlLine: 4 << 10,
		WriteDeadline: writeTime, AuthTimeout: 20, MaxClosedClients: 100,
	}
	return o, c.cluster(o)
}

func (c Config) cluster(o *server.Options) error {
	if c.Cluster == nil {
		return nil
	}
	host, port, err := address(c.Cluster.Listen)
	if err != nil {
		return err
	}
	// A server with others insists on listening. It is told to where nobody comes by chance, and
	// lets in nobody: see Check.
	o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	o.TLSConfig, o.TLSHandshakeFirst, o.TLS, o.TLSVerify = strict(c.Cluster.TLS, c.Cluster.Identify), true, true, true
	o.LameDuckDuration, o.LameDuckGracePeriod = time.Second, -time.Millisecond
	o.Cluster = server.ClusterOpts{Name: c.Cluster.Name, Host: host, Port: port, NoAdvertise: true, TLSTimeout: 10, PingInterval: 3 * time.Second, TLSConfig: strict(c.Cluster.TLS, c.Cluster.Identify)}
	routes := c.Cluster.Routes
	if len(routes) == 0 {
		// One that is to be a cluster has to have a route: its own, which it finds out.
		routes = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	}
	for _, r := range routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: r})
	}
	o.CustomRouterAuthentication = hubsOnly{}
	return nil
}

// address takes HOST:PORT apart; no host is all of them, and port 0 any that is free.
func address(s string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("cannot listen on %.200q: %w", s, err)
	}
	if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("cannot listen on %.200q: the port is a number up to 65535", s)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return host, port, nil
}

// strict is a configuration that wants TLS 1.3 and a certificate that verifies, whatever its
// own function for single connections gives. verify is asked as well, unless it is nil.
func strict(c *tls.Config, verify func(*tls.ConnectionState) error) *tls.Config {
	each := c.GetConfigForClient
	c = tighten(c, verify)
	if each == nil {
		return c
	}
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		own, err := each(hello)
		if err != nil || own == nil {
			return nil, err
		}
		return tighten(own, verify), nil
	}
	return c
}

// tighten leaves the chain of a certificate to who says that he verifies it himself: to do that
// is the most of what a hub computes for a connection, and it would be done twice.
func tighten(c *tls.Config, verify func(*tls.ConnectionState) error) *tls.Config {
	c = c.Clone()
	if c.ClientAuth != tls.RequireAnyClientCert || c.VerifyConnection == nil {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	c.MinVersion, c.SessionTicketsDisabled = tls.VersionTLS13, true
	if also := c.VerifyConnection; verify != nil {
		c.VerifyConnection = func(state tls.ConnectionState) error {
			if also != nil {
				if err := also(state); err != nil {
					return err
				}
			}
			return verify(&state)
		}
	}
	return c
}
