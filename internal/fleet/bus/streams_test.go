package bus_test

import (
	"context"
	"io"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/stream/streamtest"
	"fettle.dev/fettle/test/port"
)

// TestStreams: a stream passes the suite of all streams, in memory, within the process of a hub, over
// TLS, and from another hub.
func TestStreams(t *testing.T) {
	a := newAuthority(t)
	local, tls, m := bustest.Embedded(t), a.listen(t), memory(t)
	nats := bustest.NewOthers(t, 1, port.Reserve).ExternalNats("acme")
	one, two := a.over(t, "hub1", nats), a.over(t, "hub2", nats)
	for name, c := range map[string]struct {
		exchange fleet.Exchange
		link     func(context.Context, fleet.TargetID) fleet.Link
	}{
		"memory":      {m.Exchange, m.Link},
		"local":       {local.Exchange(), busOf(t, local, local.Local).Link},
		"TLS":         {tls.Exchange(), linkTo(t, a, tls)},
		"another hub": {two.Exchange(), linkTo(t, a, one)},
	} {
		t.Run(name, func(t *testing.T) {
			l := c.link(context.Background(), bustest.ID(1))
			defer l.Close()
			ends := make(chan io.ReadWriteCloser)
			if err := l.ServeStreams("pair", func(ctx context.Context, _ []byte, s io.ReadWriteCloser) {
				ends <- s
				<-ctx.Done() // the stream is closed when the handler returns
			}); err != nil {
				t.Fatal(err)
			}
			streamtest.Conform(t, func(t *testing.T) (here, there io.ReadWriteCloser) {
				bustest.Await(t, "the target can be reached", func() bool {
					var err error
					here, err = c.exchange.Open(t.Context(), bustest.ID(1), "pair", nil)
					return err == nil
				})
				return here, <-ends
			})
		})
	}
}

// linkTo returns links to a hub over TLS.
func linkTo(t *testing.T, a *authority, srv *bus.Server) func(context.Context, fleet.TargetID) fleet.Link {
	return busOf(t, srv, func(id fleet.TargetID) bus.LinkConfig { return a.link(srv, id) }).Link
}
