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

// HandshakeLimiter limits the number of concurrent handshakes.
type HandshakeLimiter = agentconn.HandshakeLimiter

// NewHandshakeLimiter returns a limiter without running handshakes.
func NewHandshakeLimiter() *HandshakeLimiter { return agentconn.NewHandshakeLimiter() }

// Versions are the protocol versions that one end supports.
type Versions = agentconn.Versions

// VersionError means that a hub and an agent have no protocol version in common.
type VersionError = agentconn.VersionError

// MaxConnections is the maximum number of connected agents of a hub, unless Config sets another one.
const MaxConnections = 50_000

// Config configures a Server. Dir is required. Listen, TLS and Identify are required unless
// DontListen is set.
type Config struct {
	Dir    string // directory of all durable data
	Name   string // name of this hub, unique in its cluster
	Listen string // HOST:PORT for agents; port 0 selects any free port
	// DontListen accepts connections only from within the process. Tests use it.
	DontListen bool
	// TLS has the certificate of the hub and the CAs of agents. The server itself enforces TLS 1.3
	// and client certificates.
	TLS *tls.Config
	// Identify returns the target of a verified connection, or an error if its certificate is
	// revoked. It is called once for each connection, from several goroutines.
	Identify func(*tls.ConnectionState) (fleet.TargetID, error)

	// Ready is closed when agents may connect; until then they wait. nil means at once.
	Ready <-chan struct{}
	// HandshakeLimiter limits concurrent handshakes, together with all other users of the same
	// limiter; nil means a new limiter.
	HandshakeLimiter *HandshakeLimiter

	// Budget limits the connections of agents, including connections that have not authenticated
	// yet. The zero value has no limit.
	Budget agentconn.Budget

	MaxConnections int // of agents; 0 means the constant of this name
	// Ping is the interval between two checks whether an agent sent anything. The connection ends
	// when the fourth check finds nothing; 0 means 20 s.
	Ping time.Duration
	// LameDuck is the time over which Close disconnects the agents, so that they move to other
	// hubs; 0 means at once.
	LameDuck time.Duration
	MaxStore int64 // maximum size of the data in Dir, in bytes; 0 means 16 GiB
	// Cluster connects several hubs to one bus; nil means a single hub.
	Cluster *Cluster
	// ExternalNats stores all data on a NATS cluster that others run; nil stores it in Dir. Cluster and
	// ExternalNats exclude each other.
	ExternalNats *ExternalNats
	// Warn is called with warnings of the server; nil discards them.
	Warn func(text string)
	// OnViolation is called for an agent that violates the protocol, or that exceeds a limit; nil calls
	// nothing. It is called each time, and must return at once.
	OnViolation func(id fleet.TargetID, why string)
	// Versions are the protocol versions that agents may use; the zero value is
	// agentconn.OwnVersions.
	Versions Versions
	// Load returns the load of this hub for the other hubs; known is false if it is unknown. nil means always.
	Load func() (l fleet.HubLoad, known bool)
	// Incompatible is called for each agent that was refused because of its protocol version.
	// It must return at once; nil calls nothing.
	Incompatible func(id fleet.TargetID, e *VersionError)
}

// Cluster configures a bus of several hubs.
type Cluster struct {
	Name   string
	Listen string   // HOST:PORT for the other hubs
	Routes []string // HOST:PORT of the other hubs
	// TLS is used in both directions: a hub shows its certificate and requires the certificate of
	// the other hub.
	TLS *tls.Config
	// Identify returns an error if the other end is not a hub of this fleet. Both ends of a route
	// call it.
	Identify func(*tls.ConnectionState) error
	// Replicas is the number of hubs that store each new stream: 1, 3 or 5; 0 means 1. It does not
	// change existing streams: see Server.AdjustCopies.
	Replicas int
	// Files is the file system in which the directory is prepared. Peers are the names of all known
	// hubs, including this one. A hub that knows no other hub founds a cluster with all data that
	// it has. Any other hub waits until most of its known hubs are reachable. If Files is
	// nil, the server decides: it waits for as many hubs as Routes has.
	Files host.FS
	Peers []string
}

func (c Config) check() error {
	switch {
	case c.Dir == "":
		return errors.New("cannot start a bus without a directory")
	case !c.DontListen && (c.TLS == nil || c.Identify == nil):
		return errors.New("cannot start a bus: Config.TLS and Config.Identify are required")
	case c.Cluster != nil && (c.Name == "" || c.Cluster.Name == "" || c.Cluster.TLS == nil || c.Cluster.Identify == nil):
		return errors.New(
			"cannot join a cluster: the name of the hub, and Name, TLS and Identify of the cluster are required")
	case c.Cluster != nil && c.Cluster.Files != nil && !slices.Contains(c.Cluster.Peers, c.Name):
		return errors.New("cannot join a cluster: its peers do not include this hub")
	case c.Cluster != nil && c.ExternalNats != nil:
		return errors.New("cannot store data in a cluster of hubs and on a NATS cluster: use one of them")
	case c.ExternalNats != nil:
		return c.ExternalNats.Check()
	}
	return nil
}

func (c Config) replicas() int {
	if c.Cluster == nil {
		return 1
	}
	return orElse(c.Cluster.Replicas, 1)
}

// maxPending is the number of bytes that can wait for one of the hub's own connections before the
// server ends it. The state of tens of thousands of targets must fit, since it is read at once.
const maxPending = 256 << 20

// writeTime is the time after which a connection that accepts no bytes is ended.
const writeTime = 10 * time.Second

// options returns the options of the NATS server. They do not rely on defaults that open something:
// only this hub and the other hubs of a cluster can connect. There is no HTTP, leaf node, gateway,
// websocket, MQTT, and no anonymous user.
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
	// A server in a cluster insists on listening for clients. It listens on a random loopback port,
	// and Check refuses all clients there.
	o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	o.TLSConfig, o.TLSHandshakeFirst, o.TLS, o.TLSVerify = strict(c.Cluster.TLS, c.Cluster.Identify), true, true, true
	o.LameDuckDuration, o.LameDuckGracePeriod = time.Second, -time.Millisecond
	o.Cluster = server.ClusterOpts{Name: c.Cluster.Name, Host: host, Port: port, NoAdvertise: true, TLSTimeout: 10,
		PingInterval: 3 * time.Second, TLSConfig: strict(c.Cluster.TLS, c.Cluster.Identify)}
	routes := c.Cluster.Routes
	if len(routes) == 0 {
		// A server in a cluster needs a route. This route leads to the server itself, which the server detects.
		routes = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	}
	for _, r := range routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: r})
	}
	o.CustomRouterAuthentication = hubsOnly{}
	return nil
}

// address parses HOST:PORT. Without a host it is all addresses; port 0 is any free port.
func address(s string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("cannot listen on %.200q: %w", s, err)
	}
	if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("cannot listen on %.200q: the port must be a number from 0 to 65535", s)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return host, port, nil
}

// strict returns a TLS configuration that requires TLS 1.3 and a verified certificate, also for the
// configurations that GetConfigForClient returns. verify is called in addition, unless it is nil.
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

// tighten does not add the verification of the chain if the configuration requires any certificate
// and verifies it itself. This verification is most of the CPU time of a connection, and must not
// happen twice.
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
