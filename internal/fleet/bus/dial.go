package bus

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
	"fettle.dev/fettle/internal/fleet/bus/choice"
)

// LinkConfig configures the connection of a target to its hubs.
type LinkConfig struct {
	ID   fleet.TargetID
	URLs []string // tls://HOST:PORT; package choice chooses the one for each attempt
	// Where returns the addresses for each attempt, instead of URLs; nil means URLs.
	Where func() []string
	// TLS returns the settings of each new connection. It is called for every attempt, so that a
	// renewed certificate is used at once.
	TLS func() (*tls.Config, error)
	// Ping is the time between two checks whether anything was received. The agent pings a silent
	// hub, and ends the connection when the third check finds nothing; 0 means 15 seconds.
	Ping    time.Duration
	Timeout time.Duration // of one attempt; 0 means 20 seconds
	Backoff Backoff
	// Warn is called with the reason when an attempt fails or a connection ends; nil calls nothing.
	Warn func(text string)
	// Versions are the protocol versions that this end offers; the zero value is
	// agentconn.OwnVersions.
	Versions Versions
	// Protocol is called after each attempt that shows whether the hub supports a common version,
	// with nil if it does. nil calls nothing.
	Protocol func(e *VersionError)
	// Refused is called when a hub rejects the certificate; nil calls nothing. It is called between
	// two attempts and may take a while.
	Refused func(ctx context.Context)

	local *Server
	// choice is not nil after Dial.
	choice *choice.Choice
}

// Dial creates the link of a target. It returns at once, and connects in the background until ctx
// ends or the link is closed. It returns an error only for a wrong configuration.
func Dial(ctx context.Context, c LinkConfig) (*Link, error) {
	if _, err := fleet.ParseTargetID(string(c.ID)); err != nil {
		return nil, err
	}
	if c.local == nil && (len(c.URLs) == 0 || c.TLS == nil) {
		return nil, errors.New("cannot connect to a hub without an address and a certificate")
	}
	for _, u := range c.URLs {
		if !strings.HasPrefix(u, "tls://") {
			return nil, fmt.Errorf("cannot connect to %.200q: the address of a hub must be tls://HOST:PORT", u)
		}
	}
	c.choice = &choice.Choice{}
	l := NewLink(ctx, c.ID, c.dial, c.Backoff)
	if err := l.Serve(fleet.MessageMove, mover{c, l}.handle); err != nil {
		return nil, err
	}
	if c.local == nil {
		go c.returnToNear(l)
	}
	return l, nil
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

// telling is a connection that warns with the reason of its end when it is closed.
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

// TLS alerts with which a server rejects a certificate: RFC 8446, section 6.2.
const (
	badCertificate     tls.AlertError = 42
	certificateRevoked tls.AlertError = 44
	certificateExpired tls.AlertError = 45
	certificateUnknown tls.AlertError = 46
	unknownAuthority   tls.AlertError = 48
	accessDenied       tls.AlertError = 49
	certificateMissing tls.AlertError = 116
)

// aboutCertificate returns true if a server ended a connection because of the certificate. In TLS
// 1.3 the alert arrives after this end has finished its handshake. Other alerts, for example of an
// overloaded server, must not count: thousands of agents would then request new certificates from a
// hub that is already busy.
func aboutCertificate(err error) bool {
	alert, ok := errors.AsType[*net.OpError](err)
	if !ok || alert.Op != "remote error" {
		return false
	}
	for _, a := range [...]tls.AlertError{badCertificate, certificateRevoked, certificateExpired, certificateUnknown,
		unknownAuthority, accessDenied, certificateMissing} {
		if alert.Err.Error() == a.Error() { // the type of a connection's alert is not exported
			return true
		}
	}
	return false
}

// refusal explains an error of connecting. A hub that refuses gives no reason.
func refusal(err error) string {
	if !errors.Is(err, agentconn.ErrRefused) || agentconn.AsVersionError(err) != nil {
		return err.Error()
	}
	return "the hub refused this agent. Check at a hub whether this target is active: fettle target list --all"
}

// connect makes one connection. ctx and the Timeout of an attempt limit it.
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

// open returns a connection whose handshake is complete at this end.
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
	d := tls.Dialer{Config: conf, NetDialer: &net.Dialer{KeepAlive: -1}} // agent connections have their own pings
	return d.DialContext(ctx, "tcp", strings.TrimPrefix(c.next(ctx), "tls://"))
}

// next returns the address for the next attempt.
func (c LinkConfig) next(ctx context.Context) string {
	all := c.addresses()
	measure(ctx, c.choice, all)
	return c.choice.Next(all, time.Now())
}

// addresses returns the current addresses of hubs, at least one.
func (c LinkConfig) addresses() []string {
	if c.Where != nil {
		if now := c.Where(); len(now) > 0 {
			return now
		}
	}
	return c.URLs
}

func (c LinkConfig) warn(text string) {
	if c.Warn != nil {
		c.Warn(text)
	}
}

const (
	// leaveAfter is the time in which the answer to a MoveRequest reaches the hub before the connection ends.
	leaveAfter = 100 * time.Millisecond
	// returnEvery is the mean time between two measurements by an agent with a far hub.
	returnEvery = 10 * time.Minute
)

// mover moves an agent to another hub.
type mover struct {
	conf LinkConfig
	link *Link
}

// handle answers a MoveRequest. An agent with open streams does not move, unless the hub leaves: a move would
// end them.
func (m mover) handle(_ context.Context, body []byte) ([]byte, error) {
	var r fleet.MoveRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	var a fleet.MoveAnswer
	switch {
	case m.conf.local != nil:
		a.Why = "this agent has no other connection"
	case m.link.streams.count() > 0 && !r.Leaves:
		a.Why = "a stream is open"
	case m.conf.choice.Order(r.BusURLs, m.conf.addresses(), r.Leaves, time.Now()):
		a.Moves = true
		time.AfterFunc(leaveAfter, m.link.Reconnect)
	default:
		a.Why = "no other address is known and near"
	}
	return json.Marshal(a)
}

// returnToNear moves a link from a far hub to a near hub that is available again, until the link closes.
func (c LinkConfig) returnToNear(l *Link) {
	for {
		select {
		case <-l.done:
			return
		case <-time.After(returnEvery/2 + rand.N(returnEvery)):
		}
		all := c.addresses()
		measure(l.ctx, c.choice, all)
		if c.choice.Far(all, time.Now()) && l.streams.count() == 0 {
			l.Reconnect()
		}
	}
}
