package bus

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/bus/choice"
)

// measureWithin limits a measurement. A slower hub counts as a hub without an answer.
const measureWithin = 2 * time.Second

// measure measures the addresses (tls://HOST:PORT) without a fresh latency in c, all at once, and records the
// results in c. It returns after at most two seconds.
//
// The latency is the time of a TCP handshake (RFC 9293, section 3.5), which the kernel of the hub answers. It hardly
// depends on the load of the hub. The connection ends before the TLS handshake.
func measure(ctx context.Context, c *choice.Choice, all []string) {
	ctx, cancel := context.WithTimeout(ctx, measureWithin)
	defer cancel()
	var done sync.WaitGroup
	for _, u := range c.Unknown(all, time.Now()) {
		done.Go(func() {
			latency := handshake(ctx, strings.TrimPrefix(u, "tls://"))
			c.Note(u, latency, time.Now())
		})
	}
	done.Wait()
}

// handshake returns the time of a TCP handshake, and 0 if it fails.
func handshake(ctx context.Context, address string) time.Duration {
	began := time.Now()
	conn, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0
	}
	took := max(time.Since(began), 1)
	_ = conn.Close() // nothing was sent
	return took
}
