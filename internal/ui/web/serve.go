package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/hint"
)

// Always returns a client for each request.
func Always(c *client.Client) func(*http.Request) (*client.Client, error) {
	return func(*http.Request) (*client.Client, error) { return c, nil }
}

// ServeLocal serves pages at a port of the loopback address, until ctx ends. Port 0 is any unused port. It calls ready
// with the address for the browser. At its end, a run that the pages of a host started stops after its present step.
func ServeLocal(ctx context.Context, c Config, port int, ready func(address string)) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return hint.With(fmt.Errorf("cannot serve pages on this machine: %w", err), "Use any unused port: fettle ui")
	}
	return serveLocal(ctx, c, l, l.Addr().String(), ready)
}

// ServeSocket is ServeLocal for a listener at a socket. It calls ready with the path and the code of the address,
// because a tunnel to the socket has the host and the port.
func ServeSocket(ctx context.Context, c Config, l net.Listener, ready func(path string)) error {
	return serveLocal(ctx, c, l, "", ready)
}

func serveLocal(ctx context.Context, c Config, l net.Listener, host string, ready func(address string)) error {
	site := New(c)
	local := NewLocal(site, host)
	server := &http.Server{Handler: local, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	ready(local.Address())
	select {
	case err := <-ended:
		return fmt.Errorf("cannot serve the pages any more: %w", err)
	case <-ctx.Done():
	}
	err := server.Close() // a shutdown would wait for the streams of open pages
	site.runs.stop()
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
