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

// Foreign is a NATS cluster that there is already and that others run. Buckets and logs are
// kept there, and hubs reach each other over it. Agents never do: their connections end at
// the hub's own server, and no subject of theirs leaves it. What is kept there or goes over
// it is sealed with the fleet's key, so that who runs the cluster can withhold it, and give
// an older one again, and no more.
type Foreign struct {
	URLs []string // tls://HOST:PORT of some of its servers; nats:// is for this machine only
	// Login is a credentials file of NATS, or USER:PASSWORD, or a certificate with its key as PEM,
	// alone or before one of these; nil is none.
	Login []byte
	// CA are the PEM certificates that the cluster's are believed by; nil is those of the system.
	CA []byte
	// Prefix begins the names of all that is this fleet's: letters, digits and -.
	Prefix string
	Key    []byte // KeySize of them, the same for all hubs of the fleet
	// Replicas is how many servers keep what is new: 1, 3 or 5; 0 is 3. What is there
	// already is kept as it is.
	Replicas int
}

var prefixForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]{0,100}[A-Za-z0-9])?$`) })

// mostReplicas is the most that JetStream knows.
const mostReplicas = 5

// Check says what is wrong with the settings, as far as that can be told without the
// cluster.
func (f Foreign) Check() error {
	switch {
	case len(f.URLs) == 0:
		return errors.New("cannot use a NATS cluster without an address: give --nats tls://HOST:PORT")
	case !prefixForm().MatchString(f.Prefix):
		return fmt.Errorf("cannot use %.80q as a prefix: it has letters, digits and -", f.Prefix)
	case len(f.Key) != KeySize:
		return fmt.Errorf("cannot seal with a key of %d bytes: it has %d", len(f.Key), KeySize)
	case f.Replicas < 0 || f.Replicas > mostReplicas || f.Replicas > 0 && f.Replicas%2 == 0:
		return fmt.Errorf("cannot keep everything on %d servers of NATS: give 1, 3 or 5", f.Replicas)
	}
	for _, u := range f.URLs {
		if err := checkURL(u); err != nil {
			return err
		}
	}
	if f.CA != nil && !x509.NewCertPool().AppendCertsFromPEM(f.CA) {
		return errors.New("cannot read the certificates that the NATS cluster is believed by: they are PEM")
	}
	return f.checkLogin()
}

// checkURL never repeats what it is given: people put passwords there.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "tls" && u.Scheme != "nats" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return errors.New("cannot read an address of the NATS cluster: it is tls://HOST:PORT")
	case u.User != nil:
		return errors.New("cannot take a user or a password within the address of a NATS cluster: put USER:PASSWORD into a file, which is the credentials")
	case u.Scheme == "nats" && !isHere(u.Hostname()):
		return fmt.Errorf("cannot use %s without TLS: nats:// is for a server on this machine. Give tls://%s", u.Host, u.Host)
	}
	return nil
}

func isHere(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// isSecure tells whether the cluster is reached over TLS.
func (f Foreign) isSecure() bool {
	return slices.ContainsFunc(f.URLs, func(u string) bool { return strings.HasPrefix(u, "tls://") })
}

func (f Foreign) bucket(name string) string { return f.Prefix + "_" + name }

// abroad is the connection to a Foreign.
type abroad struct {
	conf Foreign
	seal *seal
	nc   *nats.Conn
	js   jetstream.JetStream
	warn func(string)
	anew renewals

	mu     sync.Mutex
	denied string // what the cluster did not allow last
	since  time.Time
	why    string   // it is away since then, "" while it is not
	opened []string // streams
}

// reach connects, and waits for a cluster that is away; not for one that refuses.
func reach(ctx context.Context, f Foreign, hub string, warn func(string)) (*abroad, error) {
	s, err := newSeal(f.Key)
	if err != nil {
		return nil, err
	}
	a := &abroad{conf: f, seal: s, warn: warn}
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
			return nil, fmt.Errorf("cannot use the NATS cluster: it does not let this hub in: %s. See whether the credentials are right, and of an account with JetStream", text)
		} else if text != said {
			said = text
			warn("the NATS cluster cannot be reached, and this hub waits for it; agents go on with what they have: " + text)
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

func (a *abroad) options(hub string) (nats.Options, error) {
	o := nats.GetDefaultOptions()
	login, err := a.conf.login()
	if err != nil {
		return o, err
	}
	o.Name, o.Servers = "fettle hub "+hub, a.conf.URLs
	o.Timeout, o.PingInterval, o.MaxPingsOut = 5*time.Second, 5*time.Second, 2
	o.MaxReconnect, o.ReconnectWait, o.IgnoreAuthErrorAbort = -1, 500*time.Millisecond, true
	// What cannot be sent now fails now: sent later it would come after what was decided since.
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

// isRefusal tells errors of connecting that no waiting helps against.
func isRefusal(err error) bool {
	var cert *tls.CertificateVerificationError
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired) ||
		errors.Is(err, nats.ErrSecureConnWanted) || errors.As(err, &cert) || aboutCertificate(err)
}

// pause waits, and tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (a *abroad) left(err error) {
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
		a.warn("the NATS cluster is away; agents go on with what they have: " + text)
	}
}

func (a *abroad) back(nc *nats.Conn) {
	a.mu.Lock()
	was := time.Since(a.since).Round(time.Second)
	a.why = ""
	a.mu.Unlock()
	a.warn(fmt.Sprintf("the NATS cluster is there again after %s, at %s", was, nc.ConnectedAddr()))
	a.anew.begin()
	// What is followed on a cluster that has only come back may go with the next change of who
	// leads there, and the library notices that after 20 seconds.
	for _, later := range []time.Duration{4 * time.Second, 10 * time.Second} {
		time.AfterFunc(later, a.anew.begin)
	}
}

func (a *abroad) complain(err error) {
	a.mu.Lock()
	if errors.Is(err, nats.ErrPermissionViolation) {
		a.denied = err.Error()
	}
	a.mu.Unlock()
	a.warn("on the connection to the NATS cluster: " + err.Error())
}

// errAway is what there is to say of the library's words for it.
var errAway = errors.New("the NATS cluster is away")

// plainly gives an error of the connection plain words. nil, of a hub that keeps everything
// itself, has them already.
func (a *abroad) plainly(err error) error {
	if a == nil || err == nil {
		return err
	}
	if errors.Is(err, nats.ErrReconnectBufExceeded) || a.healthy() != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return a.because(refuses, err)
}

// healthy gives what is wrong, nil for nothing.
func (a *abroad) healthy() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.why != "" {
		return fmt.Errorf("the NATS cluster is away since %s: %s", a.since.UTC().Format(time.RFC3339), a.why)
	}
	return nil
}

// sealer is nil where there is nothing abroad.
func (a *abroad) sealer() *seal {
	if a == nil {
		return nil
	}
	return a.seal
}

func (a *abroad) close() {
	if a != nil {
		a.nc.Close()
	}
}

// goAbroad connects this server with where everything is kept, and with the other hubs.
func (s *Server) goAbroad(ctx context.Context, x *Exchange) (err error) {
	if s.abroad, err = reach(ctx, *s.config.Foreign, s.config.Name, s.warn); err != nil {
		return err
	}
	over := newBetween(overNATS{s.abroad.nc}, s.config.Foreign.Prefix+".", s.abroad.seal)
	return x.relayOver(ctx, s.config.Name, over)
}
