package client

import (
	"context"
	"fmt"
	"io"
	"net"
)

// SSHAgent connects to the SSH agent of the user, at the socket that SSH_AUTH_SOCK names. The
// caller must close the connection.
func SSHAgent(ctx context.Context, socket string) (io.ReadWriteCloser, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the SSH agent: %w", err)
	}
	return c, nil
}
