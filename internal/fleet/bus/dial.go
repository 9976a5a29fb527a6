package bus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
)

// LinkConfig is how a target reaches its hubs.
type LinkConfig struct {
	ID   fleet.TargetID
	URLs []string // tls://HOST:PORT; each attempt takes one of them by chance
	// Where gives the addresses of each attempt in place of URLs; nil is URLs.
	Where func() []string
	// TLS gives the settings of each new connection, so that a certificate that was
	// renewed is used from then on. It is asked again for every attempt.
	TLS func() (*tls.Config, error)
	// Ping is the time between two checks whether anything was received. The agent pings a silent
	// hub, and ends the connection when the third check finds nothing; 0 is 15 seconds.
	Ping    time.Duration
	Timeout time.Duration // of one attempt; 0 is 20 seconds
	Backoff Backoff
	// Warn is told why an attempt failed or a connection ended, nil when nobody is.
	Warn func(text string)
	// Versions are the protocol versions that are offered; the zero value is
	// agentconn.OwnVersions.
	Versions Versions
	// Protocol is called after each attempt that shows whether the hub speaks a version in
	// common, with nil if it does. nil calls nothing.
	Protocol func(e *VersionError)
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
func (c LinkConfig) dial(ctx context.Context) (Connection, <-chan struct{}, error) {
	j, err := c.connect(ctx)
	if err != nil {
		c.warn("cannot connect to a hub: " + refusal(err))
		if e := agentconn.AsVersionError(err); e != nil && c.Protocol != nil {
			c.Protocol(e)
		}
		if c.Refused != nil && aboutCertificate(err) {
			c.Refused(ctx)
		}
		return nil, nil, err
	}
	if c.Protocol != nil {
		c.Protocol(nil)
	}
	return telling{j, c.warn}, j.Lost(), nil
}

// telling is a connection that says why it ended, when who used it lets go of it.
type telling struct {
	*agentconn.ClientConn
	warn func(string)
}

func (t telling) Close() {
	if why := t.Why(); why != nil {
		t.warn("the connection to the hub ended: " + why.Error())
	}
	t.ClientConn.Close()
}

// Alerts by which a server says that it does not take a certificate, RFC 8446, section 6.2.
const (
	badCertificate     tls.AlertError = 42
	certificateRevoked tls.AlertError = 44
	certificateExpired tls.AlertError = 45
	certificateUnknown tls.AlertError = 46
	unknownAuthority   tls.AlertError = 48
	accessDenied       tls.AlertError = 49
	certificateMissing tls.AlertError = 116
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
	for _, a := range [...]tls.AlertError{badCertificate, certificateRevoked, certificateExpired, certificateUnknown, unknownAuthority, accessDenied, certificateMissing} {
		if alert.Err.Error() == a.Error() { // a connection's alert is of a type that has no name outside
			return true
		}
	}
	return false
}

// refusal says what the server's word means: it gives one and no reason.
func refusal(err error) string {
	if !errors.Is(err, agentconn.ErrRefused) || agentconn.AsVersionError(err) != nil {
		return err.Error()
	}
	return "it does not let this agent in. Look at a hub whether this target is active: fettle target list --all"
}

// connect makes one connection; ctx and the time of an attempt bound it.
func (c LinkConfig) connect(ctx context.Context) (*agentconn.ClientConn, error) {
	ctx, cancel := context.WithTimeout(ctx, orElse(c.Timeout, 20*time.Second))
	defer cancel()
	conn, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return agentconn.JoinAs(conn, c.ID, agentconn.Watch{Every: orElse(c.Ping, 15*time.Second), Most: 3}, c.versions())
}

func (c LinkConfig) versions() Versions {
	return cmp.Or(c.Versions, agentconn.OwnVersions())
}

// open is a connection whose handshake is done as far as this end can tell.
func (c LinkConfig) open(ctx context.Context) (net.Conn, error) {
	if c.local != nil {
		return c.local.agentServer.Local(c.ID), nil
	}
	conf, err := c.TLS()
	if err != nil {
		return nil, err
	}
	conf = conf.Clone()
	conf.MinVersion = tls.VersionTLS13
	conf = c.versions().Offer(conf)
	d := tls.Dialer{Config: conf, NetDialer: &net.Dialer{KeepAlive: -1}} // the line looks itself
	return d.DialContext(ctx, "tcp", strings.TrimPrefix(c.next(), "tls://"))
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
