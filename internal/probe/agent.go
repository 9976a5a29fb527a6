package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// AgentSocket is the socket of the agent of a host, below its root. Only its user can connect.
const AgentSocket = "run/fettle/waits/agent.sock"

// maxMessage is the maximum size of a request and of an answer, in bytes.
const maxMessage = 64 << 10

// errNoAgent is in the chain of the error if no agent serves the host.
var errNoAgent = errors.New("the agent of this host does not run, so no hub can answer")

// Fleet sends a request to the hubs of the fleet, through the agent of the host.
func (n Net) Fleet(ctx context.Context, request []byte) ([]byte, error) {
	c, err := (&net.Dialer{Timeout: attempt}).DialContext(ctx, "unix", n.Agent)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAgent, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if _, err = c.Write(request); err == nil {
		err = c.(*net.UnixConn).CloseWrite()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask the agent of this host: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(c, maxMessage))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the agent of this host does not answer: %w", err)
	case len(answer) == 0:
		return nil, errors.New("the agent of this host got no answer of a hub")
	case answer[0] == '!':
		return nil, errors.New(string(answer[1:]))
	}
	return answer, nil
}

// ServeAgent serves requests at the socket of an agent, until end is called. Its directory must exist, and only the
// user of the agent may access it. handle must be safe for concurrent use.
func ServeAgent(ctx context.Context, socket string,
	handle func(ctx context.Context, request []byte) ([]byte, error)) (end func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("cannot serve runs: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return // the listener is closed
			}
			go serveOne(ctx, c, handle)
		}
	}()
	return func() { cancel(); _ = l.Close(); <-done }, nil
}

// serveTime limits the time for one request.
const serveTime = 30 * time.Second

// serveOne answers the request of one connection. An answer that begins with an exclamation mark is an error.
func serveOne(ctx context.Context, c net.Conn, handle func(ctx context.Context, request []byte) ([]byte, error)) {
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	request, err := io.ReadAll(io.LimitReader(c, maxMessage))
	if err != nil {
		return
	}
	answer, err := handle(ctx, request)
	if err != nil {
		answer = []byte("!" + err.Error())
	}
	_, _ = c.Write(answer)
}
