package flood

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attackers are clients without a certificate and without a token.
type attackers struct {
	hub   *hub
	from  func() net.IP
	token string          // valid in form, and withdrawn
	count [2]atomic.Int64 // connections that were opened, and that were not
}

// one is the address of a single attacker. many are 64 addresses: fewer than the places for
// strangers, so that a new client always displaces an attacker.
func one() net.IP  { return net.IPv4(127, 0, 0, 2) }
func many() net.IP { return net.IPv4(127, 1, byte(1+rand.N(8)), byte(1+rand.N(8))) }

// dial opens a connection from one of the addresses of the attackers, which ends with ctx.
func (a *attackers) dial(ctx context.Context, to string) (net.Conn, error) {
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: a.from()}, Timeout: 5 * time.Second}).DialContext(ctx, "tcp", to)
	if err != nil {
		a.count[1].Add(1)
		return nil, err
	}
	a.count[0].Add(1)
	context.AfterFunc(ctx, func() { _ = c.Close() })
	return c, nil
}

// attack is one connection of an attacker, until the hub ends it or ctx ends.
type attack func(ctx context.Context, a *attackers) error

// mute passes what it sends, and receives nothing.
type mute struct{ net.Conn }

func (mute) Read([]byte) (int, error) { return 0, io.EOF }

// hold keeps a connection until the hub closes it.
func hold(c net.Conn) error {
	defer func() { _ = c.Close() }()
	_, err := io.Copy(io.Discard, c)
	return err
}

func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// secure opens a connection to the API with a complete handshake.
func (a *attackers) secure(ctx context.Context) (*tls.Conn, error) {
	c, err := a.dial(ctx, a.hub.api)
	if err != nil {
		return nil, err
	}
	t := tls.Client(c, insecure())
	if err := t.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return t, nil
}

// idle opens a connection to a port, and sends nothing.
func idle(port func(*hub) string) attack {
	return func(ctx context.Context, a *attackers) error {
		c, err := a.dial(ctx, port(a.hub))
		if err != nil {
			return err
		}
		return hold(c)
	}
}

// half sends a complete client hello, and nothing more.
func half(port func(*hub) string) attack {
	return func(ctx context.Context, a *attackers) error {
		c, err := a.dial(ctx, port(a.hub))
		if err != nil {
			return err
		}
		_ = tls.Client(mute{c}, insecure()).HandshakeContext(ctx)
		return hold(c)
	}
}

// unused completes a handshake, and sends no request.
func unused(ctx context.Context, a *attackers) error {
	c, err := a.secure(ctx)
	if err != nil {
		return err
	}
	return hold(c)
}

// slow sends a body byte by byte.
func slow(ctx context.Context, a *attackers) error {
	c, err := a.secure(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "POST /v1/enrol HTTP/1.1\r\nHost: hub\r\nContent-Length: 8000\r\n\r\n"); err != nil {
		return err
	}
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
		if _, err := c.Write([]byte("{")); err != nil {
			tick.Stop()
			return err
		}
	}
}

// routes are those that read something of a client without authentication, with their limits in
// bytes.
var routes = map[string]int{
	"POST /v1/enrol": 8 << 10, "POST /v1/renew": 1 << 10, "POST /v1/facts": 4 << 20, "POST /v1/hubs/join": 64 << 10,
	"POST /v1/hubs/vouch": 64 << 10, "POST /v1/hubs/vouch-services": 64 << 10, "POST /v1/hook/site": 32 << 20,
	"POST /v1/hook/none":     32 << 20,
	"POST /v1/binaries/file": 1 << 20, "GET /v1/content/" + strings.Repeat("a", 64): 1 << 10, "POST /v1/users": 1 << 20,
	"GET /v1/status": 1 << 10, "GET /healthz": 1 << 10, "GET /metrics": 1 << 10, "GET /v1/authority": 1 << 10,
	"GET /": 1 << 10,
}

// large sends a body of one byte more than the limit to a route, with an invalid token.
func large(route string, limit int) attack {
	return func(ctx context.Context, a *attackers) error {
		c, err := a.secure(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		_, err = fmt.Fprintf(c,
			"%s HTTP/1.1\r\nHost: hub\r\nX-Gitlab-Token: wrong\r\nAuthorization: Bearer fettle-api-aaaaaaaa-%s\r\nContent-Length: %d\r\n\r\n",
			route, strings.Repeat(
				"a", 32), limit+1)
		if err != nil {
			return err
		}
		done := make(chan struct{})
		go func() { // the hub may answer before it has read all
			defer close(done)
			_, _ = io.Copy(io.Discard, c)
		}()
		defer func() { <-done }()
		_, err = io.CopyN(c, zeros{}, int64(limit)+1)
		return err
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// guess tries to enrol with a token that is not valid.
func guess(ctx context.Context, a *attackers) error {
	c, err := a.secure(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	body := fmt.Sprintf(`{"format":"fettle.enrolment/1","token":%q,"request":"","name":"web1"}`, a.token)
	if _, err := fmt.Fprintf(c, "POST /v1/enrol HTTP/1.1\r\nHost: hub\r\nContent-Length: %d\r\n\r\n%s", len(body),
		body); err != nil {
		return err
	}
	return hold(c)
}

// attacks are all attacks.
func attacks() map[string]attack {
	api, bus := func(h *hub) string { return h.api }, func(h *hub) string { return h.bus }
	all := map[string]attack{"idle at the API": idle(api), "idle at the bus": idle(bus), "half at the API": half(api),
		"half at the bus": half(bus),
		"unused":          unused, "slow": slow, "guess": guess}
	for route, limit := range routes {
		all[route] = large(route, limit)
	}
	return all
}

// begin lets each attack have so many connections at a time, until ctx ends. A connection that the
// hub ends is replaced.
func (a *attackers) begin(ctx context.Context, each map[string]int) (wait func()) {
	var all sync.WaitGroup
	for name, do := range attacks() {
		for range max(1, each[name]) {
			all.Go(func() {
				for ctx.Err() == nil {
					if do(ctx, a) != nil { // a real attacker waits for the network as well
						pause(ctx, 20*time.Millisecond)
					}
				}
			})
		}
	}
	return all.Wait
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
