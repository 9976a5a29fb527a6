package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"fettle.dev/fettle/internal/fleet"
)

// overNATS is a Carrier.
type overNATS struct{ nc *nats.Conn }

func (c overNATS) Send(subject, reply string, body []byte) error {
	return c.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: body})
}

func (c overNATS) Receive(subject, group string, each func(Message)) error {
	_, err := c.nc.QueueSubscribe(subject, group, func(m *nats.Msg) {
		nobody := len(m.Data) == 0 && m.Header.Get("Status") == "503"
		each(Message{Subject: m.Subject, Reply: m.Reply, Body: m.Data, Nobody: nobody})
	})
	if err != nil {
		return err
	}
	return flush(context.Background(), c.nc)
}

func (c overNATS) Place() (string, uint64) {
	id, _ := c.nc.GetClientID() // 0, of no connection, when there is none any more
	return c.nc.ConnectedServerId(), id
}

func (c overNATS) Close() { c.nc.Close() }

// LinkConfig is how a target reaches its hubs.
type LinkConfig struct {
	ID   fleet.TargetID
	URLs []string // tls://HOST:PORT; each attempt takes one of them by chance
	// Where gives the addresses of each attempt in place of URLs; nil is URLs.
	Where func() []string
	// TLS gives the settings of each new connection, so that a certificate that was
	// renewed is used from then on. It is asked again for every attempt.
	TLS func() (*tls.Config, error)
	// Ping is how often a silent connection is looked at, and is given up after the
	// second time without an answer; 0 is 30 seconds.
	Ping    time.Duration
	Timeout time.Duration // of one attempt; 0 is 20 seconds
	Backoff Backoff
	// Warn is told why an attempt failed or a connection ended, nil when nobody is.
	Warn func(text string)
	// Refused is told when a hub does not believe the certificate, nil when nobody is. It
	// is called between attempts and may take a while.
	Refused func(ctx context.Context)

	local *Server
	last  *string // where the attempt before went
}

// Dial makes the link of a target. It returns at once, and connects in the background
// until ctx ends or the link is closed; errors are about what is configured.
func Dial(ctx context.Context, c LinkConfig) (*Link, error) {
	if _, err := fleet.ParseTargetID(string(c.ID)); err != nil {
		return nil, err
	}
	if c.local == nil && (len(c.URLs) == 0 || c.TLS == nil) {
		return nil, errors.New("cannot connect to a hub without an address and a certificate")
	}
	for _, u := range c.URLs {
		if !strings.HasPrefix(u, "tls://") {
			return nil, fmt.Errorf("cannot connect to %.200q: the address of a bus is tls://HOST:PORT", u)
		}
	}
	c.last = new(string)
	return NewLink(ctx, c.ID, c.dial, c.Backoff), nil
}

// dial is a Dialer.
func (c LinkConfig) dial(ctx context.Context) (Carrier, <-chan struct{}, error) {
	nc, lost, err := c.connect()
	if err != nil {
		c.warn("cannot connect to a hub: " + refusal(err))
		if c.Refused != nil && aboutCertificate(err) {
			c.Refused(ctx)
		}
		return nil, nil, err
	}
	return overNATS{nc}, lost, nil
}

// Alerts by which a server says that it does not take a certificate, RFC 8446, section 6.2.
const (
	badCertificate     tls.AlertError = 42
	certificateRevoked tls.AlertError = 44
	certificateExpired tls.AlertError = 45
	certificateUnknown tls.AlertError = 46
	unknownAuthority   tls.AlertError = 48
	accessDenied       tls.AlertError = 49
)

// aboutCertificate tells whether a server ended a connection for the sake of the certificate.
// In TLS 1.3 that is an alert which comes when this end is done. Any other alert, such as
// that of a server which has too much to do, says nothing about it: thousands who took one
// for that would all ask for another certificate of a hub that is busy already.
func aboutCertificate(err error) bool {
	alert, ok := errors.AsType[*net.OpError](err)
	if !ok || alert.Op != "remote error" {
		return false
	}
	for _, a := range [...]tls.AlertError{badCertificate, certificateRevoked, certificateExpired, certificateUnknown, unknownAuthority, accessDenied} {
		if alert.Err.Error() == a.Error() { // a connection's alert is of a type that has no name outside
			return true
		}
	}
	return false
}

// refusal says what the server's word means: it gives one and no reason.
func refusal(err error) string {
	if !errors.Is(err, nats.ErrAuthorization) {
		return err.Error()
	}
	return "it does not let this agent in. A hub that has only begun sends all away for some seconds: nothing is to be done, it is tried again. If it goes on, look at a hub whether this target is active: fettle target list --all"
}

func (c LinkConfig) connect() (*nats.Conn, <-chan struct{}, error) {
	lost := make(chan struct{})
	o := nats.GetDefaultOptions()
	o.Name, o.AllowReconnect, o.RetryOnFailedConnect = string(c.ID), false, false
	o.Timeout, o.PingInterval, o.MaxPingsOut = orElse(c.Timeout, 20*time.Second), orElse(c.Ping, 30*time.Second), 2
	o.ClosedCB = func(nc *nats.Conn) { close(lost) }
	o.DisconnectedErrCB = func(_ *nats.Conn, err error) {
		if err != nil {
			c.warn("the connection to the hub ended: " + err.Error())
		}
	}
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		c.warn("on the connection to the hub: " + err.Error())
	}
	if c.local != nil {
		o.InProcessServer, o.User, o.Password = c.local.nats, string(c.ID), c.local.secret
	} else if err := c.secure(&o); err != nil {
		return nil, nil, err
	}
	nc, err := o.Connect()
	return nc, lost, err
}

func (c LinkConfig) secure(o *nats.Options) error {
	conf, err := c.TLS()
	if err != nil {
		return err
	}
	conf = conf.Clone()
	conf.MinVersion = tls.VersionTLS13
	o.Url, o.Secure, o.TLSHandshakeFirst, o.TLSConfig = c.next(), true, true, conf
	return nil
}

// next is where the next attempt goes: by chance, and elsewhere than the one before where
// that can be, since a hub that is gone is as likely as any other. Attempts are made one
// after the other.
func (c LinkConfig) next() string {
	all := c.URLs
	if c.Where != nil {
		if now := c.Where(); len(now) > 0 {
			all = now
		}
	}
	if len(all) > 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(u string) bool { return u == *c.last })
	}
	*c.last = all[rand.N(len(all))]
	return *c.last
}

func (c LinkConfig) warn(text string) {
	if c.Warn != nil {
		c.Warn(text)
	}
}

// orElse is a value, or what is meant where there is none.
func orElse[T int | int32 | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// own connects the hub itself, within the process. Where the server ends such a
// connection it is made again at once.
func (s *Server) own(user string) (*nats.Conn, error) {
	o := nats.GetDefaultOptions()
	o.Name, o.User, o.Password, o.InProcessServer = "hub", user, s.secret, s.nats
	o.MaxReconnect, o.ReconnectWait, o.ReconnectJitter = -1, 10*time.Millisecond, 0
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		s.warn("on the hub's own connection: " + err.Error())
	}
	o.ReconnectedCB = func(*nats.Conn) { s.reconnected() }
	nc, err := o.Connect()
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the bus of this hub: %w", err)
	}
	return nc, nil
}
