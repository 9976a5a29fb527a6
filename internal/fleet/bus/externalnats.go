package bus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ExternalNats configures an existing NATS cluster that others run. It stores the buckets and logs of
// the hubs, and connects the hubs. Agents never connect to it: their connections end at the hub's
// own server, and their subjects stay there. All data is sealed with the fleet's key. The operators
// of the cluster can withhold data and restore older data, but they cannot read or change it.
type ExternalNats struct {
	URLs []string // tls://HOST:PORT of some of its servers; nats:// only for this machine
	// Login is a credentials file of NATS, or USER:PASSWORD, or a certificate with its key as PEM,
	// alone or before one of these; nil means none.
	Login []byte
	// CA has the CAs of the cluster's certificates, as PEM; nil means the CAs of the system.
	CA []byte
	// Prefix begins the names of all buckets, logs and subjects of this fleet: letters, digits and
	// -.
	Prefix string
	Key    []byte // KeySize bytes, the same for all hubs of the fleet
	// Replicas is the number of servers that store each new bucket or log: 1, 3 or 5; 0 means 3. It
	// does not change existing ones.
	Replicas int
}

var prefixForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]{0,100}[A-Za-z0-9])?$`) })

// mostReplicas is the maximum of JetStream.
const mostReplicas = 5

// Check returns an error if the settings are wrong. It does not connect to the cluster.
func (f ExternalNats) Check() error {
	switch {
	case len(f.URLs) == 0:
		return errors.New("cannot use a NATS cluster without an address: give --nats tls://HOST:PORT")
	case !prefixForm().MatchString(f.Prefix):
		return fmt.Errorf("cannot use %.80q as a prefix: a prefix has only letters, digits and -", f.Prefix)
	case len(f.Key) != KeySize:
		return fmt.Errorf("cannot seal with a key of %d bytes: a key has %d", len(f.Key), KeySize)
	case f.Replicas < 0 || f.Replicas > mostReplicas || f.Replicas > 0 && f.Replicas%2 == 0:
		return fmt.Errorf("cannot store data on %d servers of NATS: give 1, 3 or 5", f.Replicas)
	}
	for _, u := range f.URLs {
		if err := checkURL(u); err != nil {
			return err
		}
	}
	if f.CA != nil && !x509.NewCertPool().AppendCertsFromPEM(f.CA) {
		return errors.New("cannot read the CA certificates of the NATS cluster: they must be PEM")
	}
	return f.checkLogin()
}

// checkURL never repeats the address in an error, since users put passwords there.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "tls" && u.Scheme != "nats" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "":
		return errors.New("cannot read an address of the NATS cluster: it must be tls://HOST:PORT")
	case u.User != nil:
		return errors.New("cannot use a user or a password in the address of a NATS cluster: write USER:PASSWORD into a file, and give --nats-creds FILE")
	case u.Scheme == "nats" && !isHere(u.Hostname()):
		return fmt.Errorf("cannot use %s without TLS: nats:// is only for a server on this machine. Give tls://%s", u.Host,
			u.Host)
	}
	return nil
}

func isHere(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// isSecure returns true if the cluster is reached over TLS.
func (f ExternalNats) isSecure() bool {
	return slices.ContainsFunc(f.URLs, func(u string) bool { return strings.HasPrefix(u, "tls://") })
}

func (f ExternalNats) bucket(name string) string { return f.Prefix + "_" + name }

// externalNats is the connection to an ExternalNats cluster.
type externalNats struct {
	conf    ExternalNats
	seal    *seal
	nc      *nats.Conn
	js      jetstream.JetStream
	warn    func(string)
	renewed renewals

	mu     sync.Mutex
	denied string // the last permission error of the cluster
	since  time.Time
	why    string   // why the connection is down since then, "" if it is up
	opened []string // names of streams
}

// reach connects. It waits for a cluster that is unreachable, but returns an error if the cluster
// refuses this hub.
func reach(ctx context.Context, f ExternalNats, hub string, warn func(string)) (*externalNats, error) {
	s, err := newSeal(f.Key)
	if err != nil {
		return nil, err
	}
	a := &externalNats{conf: f, seal: s, warn: warn}
	o, err := a.options(hub)
	if err != nil {
		return nil, err
	}
	said := ""
	for {
		a.nc, err = o.Connect()
		if err == nil {
			break
		}
		if text := err.Error(); isRefusal(err) {
			return nil, fmt.Errorf("cannot use the NATS cluster: it refused this hub: %s. Check that the credentials are right, and that their account has JetStream", text)
		} else if text != said {
			said = text
			warn("the NATS cluster cannot be reached. This hub waits for it, and agents continue with their assignments: " +
				text)
		}
		if !pause(ctx, time.Second) {
			return nil, ctx.Err()
		}
	}
	if a.js, err = jetstream.New(a.nc); err == nil {
		err = a.ready(ctx)
	}
	if err != nil {
		a.nc.Close()
		return nil, err
	}
	return a, nil
}

func (a *externalNats) options(hub string) (nats.Options, error) {
	o := nats.GetDefaultOptions()
	login, err := a.conf.login()
	if err != nil {
		return o, err
	}
	o.Name, o.Servers = "fettle hub "+hub, a.conf.URLs
	o.Timeout, o.PingInterval, o.MaxPingsOut = 5*time.Second, 5*time.Second, 2
	o.MaxReconnect, o.ReconnectWait, o.IgnoreAuthErrorAbort = -1, 500*time.Millisecond, true
	// Messages are not buffered while disconnected: they would arrive later, after newer decisions.
	o.ReconnectBufSize = -1
	o.PermissionErrOnSubscribe = true
	if a.conf.isSecure() {
		o.Secure = true
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if a.conf.CA != nil {
			o.TLSConfig.RootCAs = x509.NewCertPool()
			o.TLSConfig.RootCAs.AppendCertsFromPEM(a.conf.CA)
		}
	}
	o.DisconnectedErrCB = func(_ *nats.Conn, err error) { a.left(err) }
	o.ReconnectedCB = func(nc *nats.Conn) { a.back(nc) }
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) { a.complain(err) }
	return o, login.apply(&o)
}

// isRefusal returns true for errors of connecting that do not disappear by waiting.
func isRefusal(err error) bool {
	var cert *tls.CertificateVerificationError
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired) ||
		errors.Is(err, nats.ErrSecureConnWanted) || errors.As(err, &cert) || aboutCertificate(err)
}

// pause waits for d, and returns false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (a *externalNats) left(err error) {
	text := "the connection ended"
	if err != nil {
		text = err.Error()
	}
	a.mu.Lock()
	first := a.why == ""
	if first {
		a.since = time.Now()
	}
	a.why = text
	a.mu.Unlock()
	if first && !a.nc.IsClosed() {
		a.warn("the connection to the NATS cluster is lost. Agents continue with their assignments: " + text)
	}
}

func (a *externalNats) back(nc *nats.Conn) {
	a.mu.Lock()
	was := time.Since(a.since).Round(time.Second)
	a.why = ""
	a.mu.Unlock()
	a.warn(fmt.Sprintf("connected to the NATS cluster again after %s, at %s", was, nc.ConnectedAddr()))
	a.renewed.begin()
	// After a reconnection, a change of the JetStream leader can end subscriptions again. The
	// library detects that only after 20 seconds.
	for _, later := range []time.Duration{4 * time.Second, 10 * time.Second} {
		time.AfterFunc(later, a.renewed.begin)
	}
}

func (a *externalNats) complain(err error) {
	a.mu.Lock()
	if errors.Is(err, nats.ErrPermissionViolation) {
		a.denied = err.Error()
	}
	a.mu.Unlock()
	a.warn("on the connection to the NATS cluster: " + err.Error())
}

// errUnreachable replaces the library's texts for a lost connection.
var errUnreachable = errors.New("the NATS cluster cannot be reached")

// plainly explains an error of the NATS cluster. If a is nil, the hub stores its data itself and
// the error is unchanged.
func (a *externalNats) plainly(err error) error {
	if a == nil || err == nil {
		return err
	}
	if errors.Is(err, nats.ErrReconnectBufExceeded) || a.healthy() != nil {
		return fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return a.because(refuses, err)
}

// healthy returns why the connection is down, or nil.
func (a *externalNats) healthy() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.why != "" {
		return fmt.Errorf("the NATS cluster has not been reachable since %s: %s", a.since.UTC().Format(time.RFC3339), a.why)
	}
	return nil
}

// sealer returns nil if the hub stores its data itself.
func (a *externalNats) sealer() *seal {
	if a == nil {
		return nil
	}
	return a.seal
}

func (a *externalNats) close() {
	if a != nil {
		a.nc.Close()
	}
}

// goAbroad connects this server to the NATS cluster, and through it to the other hubs.
func (s *Server) goAbroad(ctx context.Context, x *Exchange) (err error) {
	if s.external, err = reach(ctx, *s.config.ExternalNats, s.config.Name, s.warn); err != nil {
		return err
	}
	over := newBetween(overNATS{s.external.nc}, s.config.ExternalNats.Prefix+".", s.external.seal)
	return x.relayOver(ctx, s.config.Name, over, s.config.Load)
}
