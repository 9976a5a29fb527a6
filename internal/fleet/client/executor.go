package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"fettle.dev/fettle/internal/fleet/document"
)

// Executor opens the executor of a target, by identity or name: a stream for wire.Dial.
// changes asks for one that may change something, which needs another right. command is
// what was typed, for the audit log. ctx bounds the opening alone; the caller closes the
// stream.
func (c *Client) Executor(ctx context.Context, name string, changes bool, command string) (io.ReadWriteCloser, error) {
	verb := "look"
	if changes {
		verb = "work"
	}
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	r, err := c.request(ctx, http.MethodPost, targetPath(name, verb), nil, document.ExecutorRequest{Command: command[:min(len(command), maxCommand)]})
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
		return nil, fmt.Errorf("cannot reach %s through %s: what answers there is no hub", name, c.base)
	}
	return stream, nil
}

// maxCommand bounds what is told of a command line, in bytes.
const maxCommand = 4 << 10

// oneConnection is a client whose connections can become something else.
func oneConnection(t *http.Transport, like *http.Client) *http.Client {
	t = t.Clone()
	t.ForceAttemptHTTP2, t.Protocols = false, new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSNextProto = nil; t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil // the clone has those of HTTP/2
	}
	return &http.Client{Transport: t, CheckRedirect: like.CheckRedirect}
}

// Refused tells whether an error is what a hub said, and not that nobody could ask it.
func Refused(err error) bool { return statusOf(err) != 0 }

// Missing tells whether a hub said that what was asked for is not there.
func Missing(err error) bool { return statusOf(err) == http.StatusNotFound }

// Away tells whether a hub said that the agent of the target is not connected.
func Away(err error) bool { return statusOf(err) == http.StatusServiceUnavailable }

func statusOf(err error) int {
	var p *document.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}
