package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Executor opens the executor of a target, by ID or name: a stream for wire.Dial. With changes, the
// executor can change the target, which requires another right. command is the command line of the
// user, for the audit log. ctx limits only the opening. The caller must close the stream.
func (c *Client) Executor(ctx context.Context, name string, changes bool, command string) (io.ReadWriteCloser, error) {
	to := route.Look()
	if changes {
		to = route.Work()
	}
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	r, err := c.request(ctx, to.Method, to.Address(route.TargetName{Target: name}),
		document.ExecutorRequest{Command: command[:min(len(command), maxCommand)]})
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", document.ExecutorProtocol)
	answer, err := c.answer(c.streams, r, http.StatusSwitchingProtocols)
	if err != nil {
		return nil, err
	}
	stream, ok := answer.Body.(io.ReadWriteCloser)
	if !ok || answer.Header.Get("Upgrade") != document.ExecutorProtocol {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("cannot reach %s through %s: the server at this address is not a hub", name, c.base)
	}
	return stream, nil
}

// maxCommand is the maximum length of the recorded command line, in bytes.
const maxCommand = 4 << 10

// oneConnection returns an HTTP client whose connections can become streams.
func oneConnection(t *http.Transport, like *http.Client) *http.Client {
	t = t.Clone()
	t.ForceAttemptHTTP2, t.Protocols = false, new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSNextProto = nil; t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil // remove the entry for HTTP/2 that the clone inherited
	}
	return &http.Client{Transport: t, CheckRedirect: like.CheckRedirect}
}

// Refused reports whether the hub answered with an error, in contrast to a failed connection.
func Refused(err error) bool { return statusOf(err) != 0 }

// Missing reports whether the hub answered that the object does not exist.
func Missing(err error) bool { return statusOf(err) == http.StatusNotFound }

// AgentOffline reports whether the hub answered that the agent of the target is not connected.
func AgentOffline(err error) bool { return statusOf(err) == http.StatusServiceUnavailable }

func statusOf(err error) int {
	var p *document.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}
